"""Everything that a rule can do; each module beside this one brings some effects."""

from __future__ import annotations

import importlib
import pkgutil

from hintbound.proxy.effects.effect import EFFECTS, Effect, OnObjects, OnRequest

for _module in sorted(module.name for module in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")

__all__ = ["EFFECTS", "Effect", "OnObjects", "OnRequest"]
