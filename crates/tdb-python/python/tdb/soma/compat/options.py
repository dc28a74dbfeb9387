"""Options: of contexts, and of single calls."""

from .context import SOMATileDBContext
from .platform_config import TileDBCreateOptions, TileDBDeleteOptions, TileDBWriteOptions

__all__ = ["SOMATileDBContext", "TileDBCreateOptions", "TileDBDeleteOptions", "TileDBWriteOptions"]
