"""What `iree-tuner --help` says about the command from outside."""

from iree_tuner.cli.commands import Command

FUNCTIONS = Command("iree_tuner_test_plugin.functions:functions", "List the functions of a program.")
