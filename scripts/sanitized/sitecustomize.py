"""Import the core that was built in the folder TRIMTAB_CORE, in place of the installed one."""

import importlib.util
import os
import sys
from pathlib import Path

(built,) = Path(os.environ["TRIMTAB_CORE"]).glob("_core*.so")
spec = importlib.util.spec_from_file_location("trimtab._core", built)
assert spec is not None
assert spec.loader is not None
core = importlib.util.module_from_spec(spec)
sys.modules["trimtab._core"] = core
spec.loader.exec_module(core)
