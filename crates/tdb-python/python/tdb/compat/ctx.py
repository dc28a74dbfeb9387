"""Options and contexts. Of TileDB's options, those that :func:`storage_of` and the modules beside name mean something here;
all others are kept and have no effect."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .defaults import DEFAULTS
from .libtiledb import TileDBError

#: Options that are not shown.
_SECRETS = ("secret", "key", "token", "password")

#: Options of TileDB, and those of stores here.
_S3 = {
    "vfs.s3.region": "aws_region",
    "vfs.s3.aws_access_key_id": "aws_access_key_id",
    "vfs.s3.aws_secret_access_key": "aws_secret_access_key",
    "vfs.s3.aws_session_token": "aws_session_token",
    "vfs.s3.no_sign_request": "aws_skip_signature",
}


class Config(MutableMapping[str, str]):
    """Options: names and texts."""

    def __init__(self, params: Mapping[str, Any] | None = None, path: str | None = None) -> None:
        self._values = dict(DEFAULTS)
        if path is not None:
            self.from_file(path)
        if params is not None:
            self.update(params)

    @staticmethod
    def load(uri: str) -> Config:
        """Options from a file with a name and a value on each line."""
        return Config(path=uri)

    def from_file(self, path: str) -> None:
        """Takes options from a file."""
        try:
            with open(path, encoding="utf-8") as file:
                lines = [line.split("#")[0].split() for line in file]
        except OSError as error:
            raise TileDBError(f"Failed to open config file '{path}': {error}") from error
        for words in lines:
            if len(words) > 2:
                raise TileDBError(f"Failed to parse config file '{path}': a name and a value are expected on each line")
            if words:
                self[words[0]] = words[1] if len(words) == 2 else ""

    def save(self, uri: str) -> None:
        """Writes the options to a file, without those that are secret."""
        with open(uri, "w", encoding="utf-8") as file:
            file.writelines(f"{name} {value}\n" for name, value in sorted(self.items()) if value and not _secret(name))

    def __setitem__(self, name: str, value: Any) -> None:
        if name is None:
            raise ValueError("Config key cannot be None")
        self._values[str(name)] = "" if value is None else str(value)

    def get(self, name: str, raise_keyerror: Any = True) -> Any:
        """A value. A name that is not there is a ``KeyError``, unless the second argument is false."""
        if name in self._values:
            return self._values[name]
        if raise_keyerror is True:
            raise KeyError(name)
        return None if isinstance(raise_keyerror, bool) else raise_keyerror

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __delitem__(self, name: str) -> None:
        # What TileDB has by default comes back.
        if name in DEFAULTS:
            self._values[name] = DEFAULTS[name]
        else:
            self._values.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._values))

    def __len__(self) -> int:
        return len(self._values)

    def _under(self, prefix: str) -> list[tuple[str, str]]:
        return [(name[len(prefix) :], self._values[name]) for name in self if name.startswith(prefix)]

    def dict(self, prefix: str = "") -> dict[str, str]:
        """The options whose names begin with a prefix, without it."""
        return dict(self._under(prefix))

    def keys(self, prefix: str = "") -> Any:
        """The names."""
        return [name for name, _ in self._under(prefix)]

    def values(self, prefix: str = "") -> Any:
        """The values."""
        return [value for _, value in self._under(prefix)]

    def items(self, prefix: str = "") -> Any:
        """Names and values."""
        return self._under(prefix)

    def clear(self) -> None:
        """All options as they are by default."""
        self._values = dict(DEFAULTS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        rows = [(name, repr("*" * 10 if _secret(name) and value else value)) for name, value in self.items()]
        width = max(len("Parameter"), *(len(name) for name, _ in rows))
        return "\n".join(f"{name:<{width}} | {value}" for name, value in [("Parameter", "Value"), *rows])

    def _repr_html_(self) -> str:
        rows = ((name, repr("*" * 10 if _secret(name) and value else value)) for name, value in self.items())
        cells = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in rows)
        return f"<table><tr><th>Parameter</th><th>Value</th></tr>{cells}</table>"


def _secret(name: str) -> bool:
    last = name.rsplit(".", 1)[-1]
    return any(word in last for word in _SECRETS) and not last.endswith("_id")


class Ctx:
    """What holds the options."""

    def __init__(self, config: Config | Mapping[str, Any] | None = None) -> None:
        if config is not None and not isinstance(config, (Config, Mapping)):
            raise TypeError("Ctx's config argument expects type `tiledb.Config` or `dict`")
        self._config = Config(dict(config.items()) if config is not None else None)

    def config(self) -> Config:
        """A copy of the options."""
        return Config(self._config.dict())

    def set_tag(self, key: str, value: str) -> None:
        """Tags are for TileDB's server, so they have no effect here."""

    def __repr__(self) -> str:
        return "tiledb.Ctx() [see Ctx.config() for configuration]"


_current: ContextVar[Ctx] = ContextVar("tdb_compat_ctx")


def default_ctx(config: Config | Mapping[str, Any] | None = None) -> Ctx:
    """The context that applies where none is given. It can be made with options once."""
    if config is not None and not isinstance(config, (Config, dict)):
        raise ValueError("default_ctx takes in `tiledb.Config` object or dictionary with config parameters.")
    try:
        found = _current.get()
    except LookupError:
        found = Ctx(config)
        _current.set(found)
        return found
    if config is not None:
        raise TileDBError("Global context already initialized!")
    return found


@contextmanager
def scope_ctx(ctx_or_config: Ctx | Config | Mapping[str, Any] | None = None) -> Iterator[Ctx]:
    """Another default context inside of a ``with`` block."""
    if ctx_or_config is not None and not isinstance(ctx_or_config, (Ctx, Config, dict)):
        raise ValueError(
            "scope_ctx takes in `tiledb.Ctx` object, `tiledb.Config` object, or dictionary with config parameters."
        )
    ctx = ctx_or_config if isinstance(ctx_or_config, Ctx) else Ctx(ctx_or_config)
    token = _current.set(ctx)
    try:
        yield ctx
    finally:
        _current.reset(token)


def ctx_of(ctx: Ctx | None = None, config: Config | Mapping[str, Any] | None = None) -> Ctx:
    """The context of a call: one that is given, or one with the options that are given, or the default one."""
    if ctx is not None and not isinstance(ctx, Ctx):
        raise ValueError(f"`ctx` expected a TileDB Context object but saw {type(ctx)}")
    if ctx and config:
        raise ValueError("Received extra Ctx or Config argument: either one may be provided, but not both")
    if config:
        return Ctx(config)
    return ctx or default_ctx()


def storage_of(config: Mapping[str, str]) -> dict[str, str]:
    """The options of stores that the options of TileDB say."""
    options = {own: str(config[name]) for name, own in _S3.items() if _given(config, name)}
    if _given(config, "vfs.s3.endpoint_override"):
        scheme = str(config["vfs.s3.scheme"]) if _given(config, "vfs.s3.scheme") else "https"
        options["aws_endpoint"] = f"{scheme}://{config['vfs.s3.endpoint_override']}"
        options["allow_http"] = "true" if scheme == "http" else "false"
    return options


def _given(config: Mapping[str, str], name: str) -> bool:
    return name in config and str(config[name]) not in ("", "false")


def key_of(config: Mapping[str, str], key: Any = None) -> bytes | None:
    """The key of an encrypted array."""
    if key is None and _given(config, "sm.encryption_key"):
        key = config["sm.encryption_key"]
    return key.encode() if isinstance(key, str) else key


def flag(ctx: Ctx, name: str) -> bool:
    """Whether an option is set."""
    return str(ctx._config.get(name, False)).lower() == "true"


def path_of(uri: Any) -> str:
    """A location as a text."""
    found = os.fspath(uri)
    return found.decode() if isinstance(found, bytes) else found


__all__ = ["Config", "Ctx", "default_ctx", "scope_ctx"]
