package hosttool

import (
	"fmt"
	"testing"
)

// recorder is a test that notes how it ended.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) { r.end("failed", format, args) }

func (r *recorder) Skipf(format string, args ...any) { r.end("skipped", format, args) }

func (r *recorder) end(how, format string, args []any) {
	if r.said == "" {
		r.said = how + ": " + fmt.Sprintf(format, args...)
	}
}

func TestNeed(t *testing.T) {
	t.Setenv("PATH", "/bin:/usr/bin")
	for _, c := range []struct{ ci, program, want string }{
		{"", "sh", ""},
		{"true", "sh", ""},
		{"", "no-such-program", "skipped: left out: there is no no-such-program"},
		{"1", "no-such-program", "failed: there is no no-such-program, which this test needs where CI is set"},
	} {
		t.Setenv("CI", c.ci)
		r := &recorder{TB: t}
		Need(r, c.program)
		if r.said != c.want {
			t.Errorf("CI=%q, %s: %q, want %q", c.ci, c.program, r.said, c.want)
		}
	}
}
