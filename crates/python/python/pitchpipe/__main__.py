"""``python -m pitchpipe`` is the command ``pitchpipe``."""

from ._command import main

main()
