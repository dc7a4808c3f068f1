"""The helpers of these tests, importable from every folder: support and support/redis_servers.

A helper that one folder alone needs lies in that folder, where pytest finds it. Base names are
unique in the whole tree: there are no packages here.
"""

import sys
from pathlib import Path

SUPPORT = Path(__file__).resolve().parent / "support"
sys.path[:0] = [str(SUPPORT), str(SUPPORT / "redis_servers")]
