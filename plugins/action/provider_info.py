# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs on the controller in place of the module of the same name, which holds the documentation."""

from __future__ import annotations

import http.client
import typing as t
import urllib.error

from ansible.errors import AnsibleActionFail
from ansible.module_utils.urls import ConnectionError as UrlsError
from ansible.module_utils.urls import open_url
from ansible.plugins.action import ActionBase

from ansible_collections.pinguard.nova.plugins.module_utils._read.errors import (
    InputError,
    quoted,
)
from ansible_collections.pinguard.nova.plugins.plugin_utils._face.cloud import Cloud
from ansible_collections.pinguard.nova.plugins.plugin_utils._model import providers

if t.TYPE_CHECKING:
    from ansible_collections.pinguard.nova.plugins.plugin_utils._model.providers import Get

ARGUMENTS = {
    "names": {"type": "list", "elements": "str", "required": True},
    "cloud": {"type": "str"},
    "endpoint": {"type": "str"},
    "token": {"type": "str", "no_log": True},
    "ca_path": {"type": "path"},
    "validate_certs": {"type": "bool", "default": True},
    "timeout": {"type": "int", "default": 30},
}
LONGEST = 3600
"""Seconds that ``timeout`` may be."""


class ActionModule(ActionBase):
    _requires_connection = False
    _supports_check_mode = True

    def run(
        self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None
    ) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        _spec, args = self.validate_argument_spec(
            argument_spec=ARGUMENTS,
            mutually_exclusive=[("cloud", "endpoint"), ("cloud", "token")],
            required_one_of=[("cloud", "endpoint")],
            required_together=[("endpoint", "token")],
        )
        try:
            if not args["names"]:
                raise InputError("the list is empty", "names of hypervisors", "names")
            get = _by_sdk(args["cloud"]) if args["cloud"] else _by_http(args)
            found = providers.read(args["names"], get)
        except InputError as error:
            raise AnsibleActionFail(str(error)) from None
        return {**result, "changed": False, "providers": found}


def _by_http(args: t.Mapping[str, t.Any]) -> Get:
    """Ask the endpoint itself. No message quotes the token."""
    endpoint = args["endpoint"].rstrip("/")
    if not endpoint.startswith(("http://", "https://")):
        raise InputError("this is no URL", "http://... or https://...", "endpoint")
    if not (args["token"] and args["token"].isascii() and args["token"].isprintable()):
        what = "it has characters that no token has" if args["token"] else "it is empty"
        raise InputError(what, "a token of Keystone", "token")
    if not 1 <= args["timeout"] <= LONGEST:
        what = f"{quoted(args['timeout'])} is out of range"
        raise InputError(what, f"1 to {LONGEST} seconds", "timeout")
    headers = {
        "Accept": "application/json",
        "OpenStack-API-Version": f"placement {providers.MICROVERSION}",
        "X-Auth-Token": args["token"],
    }

    def get(path: str) -> tuple[int, str]:
        try:
            answer = open_url(
                endpoint + path,
                headers=headers,
                timeout=args["timeout"],
                validate_certs=args["validate_certs"],
                ca_path=args["ca_path"],
                follow_redirects="no",
            )
            return answer.status, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            return error.code, ""
        except (OSError, ValueError, http.client.HTTPException, UrlsError) as error:
            what = f"Placement does not answer ({getattr(error, 'reason', None) or error})"
            raise InputError(what, "", "endpoint") from None

    return get


def _by_sdk(name: str) -> Get:
    """Ask as a cloud of ``clouds.yaml``."""
    cloud = Cloud(name, instead=", or endpoint and token")
    return lambda path: cloud.get("placement", path, providers.MICROVERSION)
