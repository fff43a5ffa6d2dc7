"""Warnings, each a Python warning of its own category."""


class PitchpipeWarning(UserWarning):
    """Something about a table or a search that its owner should look into."""
