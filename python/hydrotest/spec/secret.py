"""Secrets, by the place where they are."""

from __future__ import annotations

from pydantic import Field, model_validator

from hydrotest.spec.base import Model


class Secret(Model):
    """A secret text, by the place where it is: an environment variable, or a file. The text itself is in no file of hydrotest."""

    env: str | None = Field(None, description="The environment variable that holds it.")
    file: str | None = Field(None, description="The file that holds it, in its first line.")

    @model_validator(mode="after")
    def _is_at_one_place(self) -> Secret:
        if (self.env is None) == (self.file is None):
            raise ValueError("write where the secret is: {env: NAME} or {file: PATH}")
        return self
