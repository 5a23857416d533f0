"""DescribeConfigs in version 0, the only version of brokers 0.11 and 1.0. kio has no schemas of it.

A request of version 0 does not have the last field of version 1, `include_synonyms`. A response does not have the
synonyms of a setting either. In place of the source of a setting, it has one byte that says whether the setting is a
default; here this byte, too, is called `config_source`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, make_dataclass
from types import GenericAlias
from typing import Any

from kio.schema.describe_configs.v1.request import DescribeConfigsRequest
from kio.schema.describe_configs.v1.response import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)


def _version_0(schema: Any, lacks: str = "", **lists: Any) -> Any:
    """Return a schema like one of version 1, without the field that it lacks; `lists` are the schemas of elements."""
    types = {each.name: each.type for each in fields(schema)}
    types |= {name: GenericAlias(tuple, (element, ...)) for name, element in lists.items()}
    parts = [
        (each.name, types[each.name], field(metadata=each.metadata)) for each in fields(schema) if each.name != lacks
    ]
    same = {name: getattr(schema, name) for name in ("__flexible__", "__header_schema__")}
    return make_dataclass(f"Old{schema.__name__}", parts, frozen=True, namespace=same)


OldRequest = _version_0(DescribeConfigsRequest, lacks="include_synonyms")
OldSetting = _version_0(DescribeConfigsResourceResult, lacks="synonyms")
OldResult = _version_0(DescribeConfigsResult, configs=OldSetting)
OldResponse = _version_0(DescribeConfigsResponse, results=OldResult)

NOT_IN_KIO: Mapping[tuple[int, int], tuple[Any, Any]] = {(32, 0): (OldRequest, OldResponse)}
"""The schemas of requests and responses that kio lacks, by the key and the version of the API."""
