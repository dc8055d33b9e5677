"""The tests that an experiment may ask for."""

from __future__ import annotations

from hydrotest.kinds.ref import Ref
from hydrotest.kinds.test import TestKind

KINDS = (
    TestKind("isolated", Ref("hydrotest.spec.tests.isolated:Isolated"), Ref("hydrotest.run.isolated:IsolatedTest"), is_short=True),
    TestKind("combined", Ref("hydrotest.spec.tests.combined:Combined"), Ref("hydrotest.run.combined:CombinedTest"), is_short=True),
    TestKind("soak", Ref("hydrotest.spec.tests.soak:Soak"), Ref("hydrotest.run.soak:SoakTest")),
    TestKind("fault", Ref("hydrotest.spec.tests.fault:Fault"), Ref("hydrotest.run.fault:FaultTest")),
    TestKind("levels", Ref("hydrotest.spec.tests.levels:Levels"), Ref("hydrotest.run.levels:LevelsTest")),
    TestKind("concurrency", Ref("hydrotest.spec.tests.levels:Concurrency"), Ref("hydrotest.run.levels:LevelsTest")),
    TestKind("saturated", Ref("hydrotest.spec.tests.levels:Saturated"), Ref("hydrotest.run.levels:LevelsTest")),
    TestKind("doubling", Ref("hydrotest.spec.tests.doubling:Doubling"), Ref("hydrotest.run.doubling:DoublingTest")),
    TestKind("profile", Ref("hydrotest.spec.tests.profile:Profile"), Ref("hydrotest.run.profile:ProfileTest")),
)
