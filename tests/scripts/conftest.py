"""`devtools` is no installed package: it is imported from scripts/."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
