package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// limit is the time that lowering or running a model may take.
const limit = 60 * time.Second

// judge gives models their verdicts, with the tool pte and, unless nil, the official runtime.
type judge struct {
	pte, tmp string
	official *official
}

// model judges the model in folder.
func (j *judge) model(folder string) row {
	r := row{name: filepath.Base(folder)}
	for i := range r.verdicts {
		r.verdicts[i].state = "none"
	}
	delegated := filepath.Join(j.tmp, r.name+"_xnnpack.pte")
	spec, err := j.spec(folder)
	if err != nil {
		r.verdicts[0] = fail(err.Error())
		return r
	}
	copy(r.verdicts[:], j.lowerAndRun(folder, filepath.Join(j.tmp, r.name+".pte"), nil))
	copy(r.verdicts[4:], j.lowerAndRun(folder, delegated, []string{spec}))
	for file, at := range map[string]int{"portable.pte": 3, "xnnpack.pte": 7} {
		if file = filepath.Join(folder, file); exists(file) {
			r.verdicts[at] = j.runOurs(folder, file)
		}
	}
	if theirs := filepath.Join(folder, "xnnpack.pte"); exists(theirs) && exists(delegated) {
		r.verdicts[8] = j.delegation(delegated, theirs)
	}
	return r
}

// lowerAndRun makes the program out of the model, or of the spec in inputs, and runs it on both runtimes.
func (j *judge) lowerAndRun(folder, out string, inputs []string) []verdict {
	list := []verdict{j.lower(folder, out, inputs), {state: "none"}, {state: "none"}}
	if list[0].state == "ok" {
		list[1], list[2] = j.runOurs(folder, out), j.runOfficial(folder, out)
	} else if j.official == nil {
		list[2] = verdict{}
	}
	return list
}

// spec writes a spec of the model with XNNPACK, and gives its path.
func (j *judge) spec(folder string) (string, error) {
	models, err := methodFiles(folder)
	if err != nil {
		return "", err
	}
	text := "package zoo\n\nimport (\n\t\"github.com/rules-pte/rules_pte/cue/lower\"\n\t\"github.com/rules-pte/rules_pte/backends/xnnpack\"\n)\n\nlower.#Program & {\n"
	for _, m := range models {
		name, file, ok := strings.Cut(m, "=")
		if !ok {
			name, file = "forward", m
		}
		if file, err = filepath.Abs(file); err != nil {
			return "", fmt.Errorf("find model: %w", err)
		}
		text += fmt.Sprintf("\tmethods: %s: model: %q\n", name, file)
	}
	path := filepath.Join(j.tmp, filepath.Base(folder)+".pte.cue")
	return path, os.WriteFile(path, []byte(text+"\tpartition: [xnnpack.#Backend]\n}\n"), 0o600)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// lower makes the program out of inputs, or of the models in folder if there are none.
func (j *judge) lower(folder, out string, inputs []string) verdict {
	if inputs == nil {
		var err error
		if inputs, err = methodFiles(folder); err != nil {
			return fail(err.Error())
		}
	}
	_, stderr, err := j.call(append([]string{"lower", "-o", out}, inputs...))
	if err != nil {
		return fail(lowerReason(stderr, err))
	}
	return verdict{state: "ok"}
}

// methodFiles gives the model's arguments of pte lower: its one file, or method=file each.
func methodFiles(folder string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "case.json"))
	if err != nil {
		return nil, fmt.Errorf("read case: %w", err)
	}
	var c struct {
		Methods map[string]struct{ File string }
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("parse case: %w", err)
	}
	var args []string
	for name, m := range c.Methods {
		file := filepath.Join(folder, m.File)
		if len(c.Methods) > 1 || name != "forward" {
			file = name + "=" + file
		}
		args = append(args, file)
	}
	slices.Sort(args)
	return args, nil
}

func (j *judge) runOurs(folder, program string) verdict {
	stdout, stderr, err := j.call([]string{"run", program, "--case", filepath.Join(folder, "case.json"), "--check"})
	if err != nil {
		return fail(runReason(stdout, stderr, err))
	}
	return verdict{state: "ok"}
}

func (j *judge) runOfficial(folder, program string) verdict {
	if j.official == nil {
		return verdict{}
	}
	reason, err := j.official.run(folder, program)
	switch {
	case err != nil:
		return fail(err.Error())
	case reason == "":
		return verdict{state: "ok"}
	case j.theirsFails(folder, reason):
		reason = theirs + reason
	}
	return fail(reason)
}

// theirs begins the reason of a failure that is not ours.
const theirs = "as the official program: "

// theirsFails says whether the official ExecuTorch's own program fails in the same way on its runtime.
func (j *judge) theirsFails(folder, reason string) bool {
	for _, file := range []string{"portable.pte", "xnnpack.pte"} {
		if file = filepath.Join(folder, file); exists(file) {
			if r, err := j.official.run(folder, file); err == nil && r == reason {
				return true
			}
		}
	}
	return false
}

func fail(reason string) verdict {
	return verdict{"fail", tidy(reason)}
}

// call runs pte and gives what it printed.
func (j *judge) call(args []string) (stdout, stderr string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, j.pte, args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err = cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("takes more than %v", limit)
	}
	return strings.TrimSpace(o.String()), strings.TrimSpace(e.String()), err
}
