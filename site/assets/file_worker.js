// Runs the search's worker in a hidden frame where the site is opened from disk: browsers start no worker of a `file:`
// page. The interface is as much of `Worker` as the theme uses.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super()
      this.onmessage = null
      this.onerror = null
      this.onmessageerror = null
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      this.frame.srcdoc = "<!doctype html>"
      this.frame.addEventListener("load", () => this.start(String(new URL(address, document.baseURI))), { once: true })
      document.documentElement.append(this.frame)
    }

    start(address) {
      const inside = this.frame.contentWindow
      inside.postMessage = data => setTimeout(() => this.tell(new MessageEvent("message", { data })))
      const script = inside.document.createElement("script")
      script.addEventListener("load", () => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      })
      script.addEventListener("error", () => this.tell(new ErrorEvent("error", { message: address })))
      script.src = address
      inside.document.head.append(script)
    }

    tell(event) {
      this.dispatchEvent(event)
      const handler = this[`on${event.type}`]
      if (handler) handler.call(this, event)
    }

    postMessage(data) {
      if (this.waiting) {
        this.waiting.push(data)
        return
      }
      const inside = this.frame.contentWindow
      if (inside) setTimeout(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
