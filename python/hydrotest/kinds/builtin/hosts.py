"""Ways to have hosts."""

from __future__ import annotations

from hydrotest.kinds.host import HostKind
from hydrotest.kinds.ref import Ref

KINDS = (
    HostKind("local", Ref("hydrotest.spec.hosts:LocalHost"), Ref("hydrotest.hosts.catalogue:local_hosts")),
    HostKind("netns", Ref("hydrotest.spec.hosts:NetnsHost"), Ref("hydrotest.hosts.catalogue:emulated_hosts")),
    HostKind("ssh", Ref("hydrotest.spec.hosts:SshHost"), Ref("hydrotest.hosts.remote.make:remote_hosts")),
    HostKind("command", Ref("hydrotest.spec.hosts:CommandHost"), Ref("hydrotest.hosts.remote.make:remote_hosts")),
    HostKind("exporter", Ref("hydrotest.spec.monitored:ExporterHost"), Ref("hydrotest.hosts.monitored.make:monitored_hosts")),
    HostKind("prometheus", Ref("hydrotest.spec.monitored:PrometheusHost"), Ref("hydrotest.hosts.monitored.make:monitored_hosts")),
)
