"""The tests that an experiment may contain.

The report itself shows what several kinds' rows share (limits, levels, interference).
"""

from __future__ import annotations

from hydrotest.kinds.ref import Ref
from hydrotest.kinds.test import TestKind

KINDS = (
    TestKind("isolated", Ref("hydrotest.spec.tests.isolated:Isolated"), Ref("hydrotest.run.tests.isolated:IsolatedTest"), is_short=True),
    TestKind("combined", Ref("hydrotest.spec.tests.combined:Combined"), Ref("hydrotest.run.tests.combined:CombinedTest"), is_short=True),
    TestKind(
        "soak",
        Ref("hydrotest.spec.tests.soak:Soak"),
        Ref("hydrotest.run.tests.soak:SoakTest"),
        sheets=(Ref("hydrotest.report.soak:held_sheet"), Ref("hydrotest.report.soak:soak_sheet")),
        figures=(Ref("hydrotest.report.soak:soak_figures"),),
    ),
    TestKind(
        "fault",
        Ref("hydrotest.spec.tests.fault:Fault"),
        Ref("hydrotest.run.tests.fault:FaultTest"),
        sheets=(Ref("hydrotest.report.fault:fault_sheet"),),
        figures=(Ref("hydrotest.report.fault:fault_figures"),),
    ),
    TestKind("levels", Ref("hydrotest.spec.tests.levels:Levels"), Ref("hydrotest.run.tests.levels:LevelsTest")),
    TestKind("concurrency", Ref("hydrotest.spec.tests.levels:Concurrency"), Ref("hydrotest.run.tests.levels:LevelsTest")),
    TestKind("saturated", Ref("hydrotest.spec.tests.levels:Saturated"), Ref("hydrotest.run.tests.levels:LevelsTest")),
    TestKind(
        "profile",
        Ref("hydrotest.spec.tests.profile:Profile"),
        Ref("hydrotest.run.tests.profile:ProfileTest"),
        sheets=(Ref("hydrotest.report.profile:profile_sheet"),),
        figures=(Ref("hydrotest.report.profile:profile_figures"),),
    ),
    TestKind("calibrate", Ref("hydrotest.spec.tests.calibrate:Calibrate"), Ref("hydrotest.run.tests.calibrate:CalibrateTest")),
    TestKind(
        "doubling",
        Ref("hydrotest.spec.tests.doubling:Doubling"),
        Ref("hydrotest.run.tests.doubling:DoublingTest"),
        sheets=(Ref("hydrotest.report.doubling:doubling_sheet"),),
    ),
)
