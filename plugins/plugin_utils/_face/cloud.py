# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cloud of ``clouds.yaml``, asked through openstacksdk, which is imported when it is needed."""

from __future__ import annotations

import contextlib
import importlib
import typing as t

from ...module_utils._read import files
from ...module_utils._read.errors import InputError

if t.TYPE_CHECKING:
    from collections.abc import Iterator

    from .._model.cloud_api import Version


PATIENCE = 120
"""Seconds that a service may be silent where ``clouds.yaml`` has no ``api_timeout``."""
_CHUNK = 1 << 20


class Cloud:
    """The services of a cloud, by their types in its catalog."""

    def __init__(self, name: str, region: str | None = None, instead: str = "") -> None:
        """Find the cloud; ``instead`` is what one can do without openstacksdk.

        Raises ``InputError`` without openstacksdk, or where the cloud is not known.
        """
        try:
            openstack = importlib.import_module("openstack")
            errors = importlib.import_module("keystoneauth1.exceptions")
        except ImportError as error:
            what = f"openstacksdk cannot be imported on the controller ({error})"
            raise InputError(what, f"pip install openstacksdk{instead}", "cloud") from None
        self._name = name
        self._newest: dict[str, Version] = {}
        self._failures = (openstack.exceptions.SDKException, errors.ClientException)
        where = {"region_name": region} if region else {}
        with self._telling():
            self._cloud = openstack.connect(cloud=name, **where)
            # Without it, a service that accepts and never answers would be waited for for ever.
            self._cloud.session.timeout = self._cloud.session.timeout or PATIENCE

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except self._failures as error:
            text = " ".join(str(error).split())[:500] or type(error).__name__
            raise InputError(text, "", f"cloud {self._name}") from None
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001
            # What clouds.yaml has out of place comes through openstacksdk as anything.
            text = " ".join(f"{type(error).__name__}: {error}".split())[:500]
            accepted = "a clouds.yaml that openstacksdk takes, and services that answer"
            raise InputError(text, accepted, f"cloud {self._name}") from None

    def newest(self, service: str) -> Version:
        """Give the newest microversion of a service; raises ``InputError`` without the service."""
        if service not in self._newest:
            with self._telling():
                data = getattr(self._cloud, service).get_endpoint_data()
            if not (data and data.max_microversion):
                what = f"there is no {service} API with microversions"
                raise InputError(what, "a catalog that has it", f"cloud {self._name}")
            self._newest[service] = tuple(data.max_microversion)
        return self._newest[service]

    def get(self, service: str, path: str, version: str) -> tuple[int, str]:
        """Ask for a path below the endpoint; give status and body, bounded as files are."""
        with self._telling():
            answer = getattr(self._cloud, service).get(
                path, microversion=version or None, raise_exc=False, stream=True
            )
            body = bytearray()
            with contextlib.closing(answer):
                for chunk in answer.iter_content(_CHUNK):
                    body += chunk
                    if len(body) > files.LARGE:
                        where = f"cloud {self._name}, GET {path.partition('?')[0]}"
                        what = "the answer is too large"
                        raise InputError(what, f"at most {files.LARGE} bytes", where)
        return answer.status_code, body.decode("utf-8", "replace")
