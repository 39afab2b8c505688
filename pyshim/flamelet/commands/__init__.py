"""The commands of `flamelet`, one module each.

A command has `add_parser(commands)`, which describes its options, and `run(options)`, which returns its exit code, or
the `Launch` of a program that is to take over. A new command is a module here and a name in `flamelet/__main__.py`.
"""
