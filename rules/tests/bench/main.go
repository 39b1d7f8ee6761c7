// Command bench measures what a user waits for: builds of a clone of this repository with Bazel, from an empty output base and
// after edits. Run it in the module's root, on a machine with nothing else to do:
//
//	go run ./rules/tests/bench
//
// It prints the seconds of each step, those of all cores on Linux, the actions, the step's target, and whether it was met. It exits
// with 1 if one was not. -keep leaves the folder with clone and output base; PTE_BAZEL names the Bazel.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rules-pte/rules_pte/bench/bigmodel"
)

// programs is the number of small programs in one package.
const programs = 100

// step is a build and the edit before it.
type step struct {
	name   string
	edit   func(b *bench) error
	target []string
	within float64 // seconds; 0 for no target
}

func none(*bench) error { return nil }

// steps in their order: each builds on those before.
var steps = []step{
	{"examples/digits, empty output base", none, []string{"//examples/digits"}, 120},
	{"nothing changed", none, []string{"//examples/digits"}, 0.3},
	{"a backend that is not called", edit("backends/null/rt/rt.go", "\n// An edit.\n"), []string{"//examples/digits"}, 0},
	{"a large model", (*bench).model, []string{"//large:net_pte"}, 0},
	{"its spec", edit("large/net.pte.cue", "\nnet: emit_stacktrace: true\n"), []string{"//large:net_pte"}, 1},
	{"its weights", (*bench).model, []string{"//large:net_pte"}, 0},
	{fmt.Sprintf("%d small programs", programs), (*bench).small, []string{"//small:all"}, 10},
	{"nothing changed", none, []string{"//small:all"}, 0.3},
}

// bench is a clone and an output base.
type bench struct {
	dir, clone string
	seed       uint32
	cpu        float64 // seconds of all cores up to here
}

func main() {
	keep := flag.Bool("keep", false, "leave the folder with the clone and the output base")
	flag.Parse()
	if err := run(*keep); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func run(keep bool) (err error) {
	dir, err := os.MkdirTemp("", "pte-bench-")
	if err != nil {
		return err
	}
	b := &bench{dir: dir, clone: filepath.Join(dir, "clone")}
	defer func() {
		_, stopped := b.bazel("shutdown")
		err = errors.Join(err, stopped)
		if !keep {
			err = errors.Join(err, exec.Command("chmod", "-R", "u+w", dir).Run(), os.RemoveAll(dir))
		}
	}()
	if out, err := exec.Command("git", "clone", "-q", ".", b.clone).CombinedOutput(); err != nil {
		return fmt.Errorf("clone: %w\n%s", err, out)
	}
	fmt.Printf("%-36s %8s %8s %8s  %s\n", "step", "seconds", "CPU", "actions", "target")
	var missed []error
	for _, s := range steps {
		if err := b.step(&s); errors.Is(err, errMissed) {
			missed = append(missed, fmt.Errorf("%s: %w", s.name, err))
		} else if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return errors.Join(missed...)
}

var errMissed = errors.New("the target was missed")

// step edits, builds and prints a row.
func (b *bench) step(s *step) error {
	if err := s.edit(b); err != nil {
		return err
	}
	began := time.Now()
	out, err := b.bazel(append([]string{"build"}, s.target...)...)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	seconds := time.Since(began).Seconds()
	before := b.cpu
	b.cpu = b.used()
	target, verdict := "", error(nil)
	if s.within > 0 {
		target = fmt.Sprintf("< %v s", s.within)
		if seconds >= s.within {
			target, verdict = target+", missed", errMissed
		}
	}
	fmt.Printf("%-36s %8.2f %8.2f %8d  %s\n", s.name, seconds, b.cpu-before, actions(out), target)
	return verdict
}

// used is the CPU time of Bazel's server and of the actions that it has run, 0 where there is no /proc.
func (b *bench) used() float64 {
	pid, err := b.bazel("info", "--noshow_progress", "--ui_event_filters=-info,-stderr", "server_pid")
	if err != nil {
		return 0
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(pid), "stat"))
	if err != nil {
		return 0
	}
	return cpuTime(string(stat))
}

// cpuTime adds the times of a process and of its children, in user mode and in the system's, in ticks of 1/100 s.
func cpuTime(stat string) (seconds float64) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	for _, f := range fields[11:15] {
		ticks, _ := strconv.ParseFloat(f, 64)
		seconds += ticks / 100
	}
	return seconds
}

func (b *bench) bazel(args ...string) (string, error) {
	cmd := exec.Command(cmp.Or(os.Getenv("PTE_BAZEL"), "bazel"), append([]string{"--output_user_root=" + filepath.Join(b.dir, "bazel")}, args...)...)
	cmd.Dir = b.clone
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var processes = regexp.MustCompile(`INFO: (\d+) process(?:es)?: (?:(\d+) internal)?`)

// actions are those that ran a process, by Bazel's last line.
func actions(out string) int {
	m := processes.FindStringSubmatch(out)
	if m == nil {
		return 0
	}
	all, _ := strconv.Atoi(m[1])
	internal, _ := strconv.Atoi(m[2]) // none if it is ""
	return all - internal
}

// edit adds text to a file.
func edit(name, text string) func(b *bench) error {
	return func(b *bench) error {
		f, err := os.OpenFile(filepath.Join(b.clone, filepath.FromSlash(name)), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	}
}

const spec = `package models

import "github.com/rules-pte/rules_pte/cue/lower"

net: lower.#Program & {methods: forward: model: "net.pt2"}
`

const load = "load(\"//rules:defs.bzl\", \"pte_program\")\n"

// model writes a package with a model of 64 MiB, each time with other weights.
func (b *bench) model() error {
	b.seed++
	build := load + "\npte_program(\n    name = \"net_pte\",\n    models = [\"net.pt2\"],\n    spec = \"net.pte.cue\",\n)\n"
	files := map[string]string{"BUILD.bazel": build, "net.pte.cue": spec}
	if b.seed > 1 {
		files = nil // they are there, and the spec may be edited
	}
	return b.write("large", files, map[string]int64{"net.pt2": 64 << 20})
}

// small writes a package with many programs of models of 4 KiB.
func (b *bench) small() error {
	var build strings.Builder
	build.WriteString(load)
	models := map[string]int64{}
	for i := range programs {
		fmt.Fprintf(&build, "\npte_program(\n    name = \"net%d_pte\",\n    models = [\"net%d.pt2\"],\n)\n", i, i)
		models[fmt.Sprintf("net%d.pt2", i)] = 4 << 10
	}
	return b.write("small", map[string]string{"BUILD.bazel": build.String()}, models)
}

// write writes a package with files, and models of these sizes.
func (b *bench) write(pkg string, files map[string]string, models map[string]int64) error {
	dir := filepath.Join(b.clone, pkg)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	for name, size := range models {
		if _, err := bigmodel.WriteSeed(filepath.Join(dir, name), size, b.seed); err != nil {
			return err
		}
	}
	return nil
}
