"""The command ``pitchpipe``, as it comes with the package."""

import signal
import sys
from typing import Any

from ._native import command


def _on_cluster(driver: Any, options: dict[str, Any]) -> None:
    # Ray is imported by those who ask for it alone.
    from ._cluster import carry

    carry(driver, **options)


def main() -> None:
    """Run the command line and exit with its code."""
    # The command listens to Ctrl-C itself; Python's own answer would come after it, as a traceback.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(command(["pitchpipe", *sys.argv[1:]], _on_cluster))
