"""What every part of an experiment file has in common."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Client = Literal["native", "stock", "driver"]


class Model(BaseModel):
    """Frozen, and refuses keys that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")
