"""The `accord` command: argv, the environment, the screen, the keyboard. It would be lost if asked about ids."""
