# ReFrame: `reframe -c kilter_guard.py -r`. Kilter starts the MPI jobs itself; the check is its exit status.
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher


@rfm.simple_test
class KilterGuard(rfm.RunOnlyRegressionTest):
    descr = 'Kilter: what changed for MPI since the accepted state'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    sourcesdir = None
    num_tasks = 1
    exclusive_access = True
    time_limit = '{minutes}m'
    executable = '{script}'
    keep_files = ['kilter-guard.xml']

    @run_before('run')
    def start_by_itself(self):
        # The script goes to a directory of its own.
        self.executable_opts = ['--quiet', '--junit', os.path.join(self.stagedir, 'kilter-guard.xml')]
        self.job.launcher = getlauncher('local')()
        self.postrun_cmds = ['echo kilter-guard-status=$?']

    @sanity_function
    def nothing_changed(self):
        return sn.assert_found(r'^kilter-guard-status=0$', self.stdout)
