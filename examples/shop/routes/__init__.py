"""The shop's routes: a module with a blueprint for each part of the shop."""
