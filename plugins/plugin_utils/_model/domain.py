# Copyright (c) Pinguard contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Domains: guests as libvirt and the kernel of their host have them."""

from __future__ import annotations

import dataclasses
import typing as t

if t.TYPE_CHECKING:
    from collections.abc import Mapping

    from .flavor import Flavor, Image
    from .guest_xml import GuestXml

Kind = t.Literal["vcpu", "emulator", "iothread", "vhost"]


@dataclasses.dataclass(frozen=True, slots=True)
class Thread:
    """One thread of a QEMU process, or a kernel thread that works for it (vhost).

    Source: kernel ``Documentation/filesystems/proc.rst``, status and stat.
    """

    id: int
    name: str
    """As in ``comm``: ``CPU 1/KVM``, ``IO iothread1``, ``call_rcu``, ``vhost-812``."""
    kind: Kind
    """emulator for all that is neither a vCPU, nor an I/O thread, nor vhost."""
    index: int | None
    """vCPU, or number of the I/O thread; None for the others."""
    cpus: int
    """Host CPUs that it may run on (bitmask)."""
    policy: str
    """other, fifo, rr, batch, idle or deadline."""
    priority: int = 0
    """Of fifo and rr: 1 to 99; else 0."""
    last_cpu: int | None = None
    main: bool = False
    """The main thread of the process."""


@dataclasses.dataclass(frozen=True, slots=True)
class Metadata:
    """What Nova has written into a domain when it last generated it.

    Source: ``nova/virt/libvirt/config.py``, ``LibvirtConfigGuestMetaNovaInstance``.
    """

    release: str | None
    """Release of Nova that generated the XML, from ``nova:package``; None where it is no release
    that is known."""
    package: str
    """Its text."""
    name: str
    flavor: str
    """Name of the flavor; "" where it is not told."""
    bare: Flavor | None = None
    """The flavor without extra specs, whether these are told or not; None where it is not told."""


@dataclasses.dataclass(frozen=True, slots=True)
class Domain:
    """One domain of a host. What nobody could read is None, and named in ``unread``."""

    id: str
    """UUID, which is also that of the server."""
    name: str
    """libvirt's name, such as instance-00000012."""
    host: str
    running: bool
    live: GuestXml | None = None
    """Of the running domain."""
    persistent: GuestXml | None = None
    """What the next start outside Nova would use."""
    nova: Metadata | None = None
    """None for a domain that Nova does not manage."""
    flavor: Flavor | None = None
    """With its extra specs where the XML has them (from release 32), else None."""
    image: Image | None = None
    threads: tuple[Thread, ...] | None = None
    """None where nobody could read them."""
    locked_kb: int | None = None
    """VmLck of the process, KiB."""
    swapped_kb: int | None = None
    """VmSwap, KiB."""
    memory_kb: Mapping[int, int] | None = None
    """Host cell to the memory of the guest there, KiB; None where nobody read it."""
    unread: tuple[str, ...] = ()
    """What could not be read, and why: one line each."""
    where: str = ""
    """File, or host and name, that it was read from."""

    @property
    def xml(self) -> GuestXml | None:
        """The live XML, else the persistent one."""
        return self.live or self.persistent
