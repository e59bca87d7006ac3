"""The `accord` command: argv, the environment, the screen, the keyboard. Framing and message ids are not known here."""
