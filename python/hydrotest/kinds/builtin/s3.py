"""An object store that speaks S3, and objects that are written to it and read from it."""

from __future__ import annotations

from hydrotest.kinds.ref import Ref
from hydrotest.kinds.system import SystemKind
from hydrotest.kinds.workload import WorkloadKind

KINDS = (
    SystemKind(
        name="s3",
        model=Ref("hydrotest.spec.s3:S3"),
        make=Ref("hydrotest.systems.s3.system:make"),
        start_s=8.0,
        services=r"s3-\d+$",
        bundles=(Ref("hydrotest.systems.fetch:S3_CLIENT"), Ref("hydrotest.systems.pip:SEAWEED")),
        needs_java=True,
    ),
    WorkloadKind(
        name="s3-write",
        model=Ref("hydrotest.spec.s3:S3Write"),
        run=Ref("hydrotest.run.workloads.objects:Objects"),
        system="s3",
        needs_javac=True,
    ),
    WorkloadKind(
        name="s3-read",
        model=Ref("hydrotest.spec.s3:S3Read"),
        run=Ref("hydrotest.run.workloads.objects:Objects"),
        system="s3",
        needs_javac=True,
    ),
)
