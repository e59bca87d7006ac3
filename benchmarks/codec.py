"""Single messages, without any connection: what encoding and decoding cost, ours, bare msgspec, json, official SDK.

`accord` is what a connection does with a message that takes no shortcut: the envelope, then the typed part. `msgspec`
is one typed pass over the whole text, the least that can be done. `json` makes dicts and validates nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from collections.abc import Callable
from typing import Any

import msgspec

from accord.jsonrpc.message import Notification, Request, Result
from accord.jsonrpc.parse import parse
from accord.protocol import v1
from accord.protocol.codec import Codec, decoder_for, encode_into
from accord.protocol.edition import V1
from benchmarks.harness import ROOT, environment
from benchmarks.messages import SAMPLES, Sample
from benchmarks.stopwatch import microseconds

_OFFICIAL = [".peers/py-v1/bin/python", "benchmarks/contestants/official_py/codec.py"]
_NAMES = ("accord", "msgspec", "json", "official")
Operations = dict[str, Callable[[], object]]


def ours(sample: Sample) -> Operations:
    kind, text, codec = getattr(v1, sample.kind), _text(sample), Codec()
    head = text[: text.index(b'"%s":' % sample.part.encode()) + len(sample.part) + 3]
    value = codec.decode(kind, msgspec.json.encode(sample.envelope[sample.part]))

    def decode() -> Any:
        match parse(text, V1.rules):
            case Request(params=part) | Notification(params=part) | Result(result=part) if part is not None:
                return codec.decode(kind, part)
            case other:
                raise ValueError(other)

    def encode() -> bytearray:
        whole = bytearray(head)
        encode_into(value, whole)
        whole += b"}"
        return whole

    return {"decode": decode, "encode": encode}


def bare(sample: Sample) -> Operations:
    kind, text = getattr(v1, sample.kind), _text(sample)
    fields: list[Any] = [(key, kind if key == sample.part else type(sample.envelope[key])) for key in sample.envelope]
    decoder = decoder_for(msgspec.defstruct("Envelope", fields, gc=False))
    value = decoder.decode(text)
    encoder = msgspec.json.Encoder()
    return {"decode": lambda: decoder.decode(text), "encode": lambda: encoder.encode(value)}


def plain(sample: Sample) -> Operations:
    text = _text(sample)
    return {
        "decode": lambda: json.loads(text),
        "encode": lambda: json.dumps(sample.envelope, separators=(",", ":")).encode(),
    }


def _text(sample: Sample) -> bytes:
    return json.dumps(sample.envelope, separators=(",", ":")).encode()


def measure(rounds: int) -> dict[str, dict[str, dict[str, list[float]]]]:
    """Microseconds, by verb, message and contestant."""
    local = {name: (ours(sample), bare(sample), plain(sample)) for name, sample in SAMPLES.items()}
    numbers: dict[str, dict[str, dict[str, list[float]]]] = {
        verb: {name: {each: [] for each in _NAMES} for name in SAMPLES} for verb in ("decode", "encode")
    }
    official = subprocess.Popen(
        _OFFICIAL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=environment(), text=True, bufsize=1
    )
    with official:
        assert official.stdin is not None
        assert official.stdout is not None
        for _ in range(rounds):
            official.stdin.write("round\n")
            theirs = json.loads(official.stdout.readline())
            for name, contestants in local.items():
                for verb, by_message in numbers.items():
                    for each, operations in zip(_NAMES, contestants, strict=False):
                        by_message[name][each].append(microseconds(operations[verb]))
                    by_message[name]["official"].append(theirs[name][verb])
        official.stdin.close()
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks/run --codec", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    numbers = measure(parser.parse_args().rounds)
    for verb, by_message in numbers.items():
        print(f"\n| {verb}, us | bytes | {' | '.join(_NAMES)} | official / accord |")
        print("|---|---:|" + "---:|" * (len(_NAMES) + 1))
        for name, values in by_message.items():
            cells = [f"{statistics.median(values[each]):,.2f}" for each in _NAMES]
            pairs = zip(values["official"], values["accord"], strict=True)
            ratio = statistics.median([theirs / ours_ for theirs, ours_ in pairs])
            print(f"| {name} | {len(_text(SAMPLES[name])):,} | {' | '.join(cells)} | {ratio:.1f}x |")


if __name__ == "__main__":
    main()
