// Package hosttool is for tests that run programs of the machine, such as compilers and browsers.
package hosttool

import (
	"os"
	"os/exec"
	"testing"
)

// Need leaves a test out where one of the programs, names on PATH or paths, is missing. Where CI is set the test fails instead:
// .ci/run installs them all, so that nothing is left out unseen.
func Need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err == nil {
			continue
		}
		if os.Getenv("CI") != "" {
			t.Fatalf("there is no %s, which this test needs where CI is set", p)
		}
		t.Skipf("left out: there is no %s", p)
	}
}
