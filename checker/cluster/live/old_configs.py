"""DescribeConfigs in version 0, the only version of brokers 0.11 and 1.0. kio has no schemas of it.

A request is one of version 1 without its last field, `include_synonyms`. The response says of each setting only whether
it is a default, and not where it is set.

kio needs the types of fields, not their names, so this module does not postpone its annotations.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kio.schema.describe_configs.v1.request import DescribeConfigsRequest, DescribeConfigsResource
from kio.schema.describe_configs.v1.response import DescribeConfigsResponse


@dataclass(frozen=True)
class OldRequest:
    """The resources, topics or brokers, whose settings are asked for."""

    __flexible__: ClassVar[bool] = False
    __header_schema__: ClassVar[Any] = DescribeConfigsRequest.__header_schema__
    resources: tuple[DescribeConfigsResource, ...]


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
    __header_schema__: ClassVar[Any] = DescribeConfigsResponse.__header_schema__
    throttle_time: int = field(metadata={"kafka_type": "timedelta_i32"})
    results: tuple[OldResult, ...]


NOT_IN_KIO: Mapping[tuple[int, int], tuple[Any, Any]] = {(32, 0): (OldRequest, OldResponse)}
"""The schemas of requests and responses that kio lacks, by the key and the version of the API."""
