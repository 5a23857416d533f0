"""DescribeConfigs in version 0, the only one of brokers 0.11 and 1.0. kio has no schema of it.

A request is one of version 1 without its last field, the byte `include_synonyms`. The response says of each setting
only whether it is a default, and not where it is set. `read` (reading.py) reads these classes as it reads kio's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar


@dataclass(frozen=True)
class OldSetting:
    """A setting of a resource."""

    __flexible__: ClassVar[bool] = False
    name: str = field(metadata={"kafka_type": "string"})
    value: str | None = field(metadata={"kafka_type": "string"})
    read_only: bool = field(metadata={"kafka_type": "bool"})
    is_default: bool = field(metadata={"kafka_type": "bool"})
    is_sensitive: bool = field(metadata={"kafka_type": "bool"})


@dataclass(frozen=True)
class OldResult:
    """The settings of one resource, a topic or a broker."""

    __flexible__: ClassVar[bool] = False
    error_code: int = field(metadata={"kafka_type": "error_code"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    resource_type: int = field(metadata={"kafka_type": "int8"})
    resource_name: str = field(metadata={"kafka_type": "string"})
    configs: tuple[OldSetting, ...]


@dataclass(frozen=True)
class OldResponse:
    """The whole response, with the broker's `throttle_time` in milliseconds."""

    __flexible__: ClassVar[bool] = False
    throttle_time: int = field(metadata={"kafka_type": "timedelta_i32"})
    results: tuple[OldResult, ...]
