package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	if portable := filepath.Join(folder, "portable.pte"); exists(portable) {
		r.verdicts[3] = j.runOurs(folder, portable)
	}
	copy(r.verdicts[7:], j.againstTheirs(folder, delegated))
	return r
}

// againstTheirs gives the verdicts for which the official program with XNNPACK is needed: it runs on our runtime, ours
// delegates as much, and the results are alike.
func (j *judge) againstTheirs(folder, ours string) []verdict {
	list := []verdict{{state: "none"}, {state: "none"}, {state: "none"}}
	theirs, hollow, err := j.theirs(folder)
	switch {
	case errors.Is(err, errUnasked):
		return make([]verdict, len(list))
	case err != nil:
		return list
	}
	if !hollow {
		list[0] = j.runOurs(folder, theirs)
	}
	if exists(ours) {
		list[1] = j.delegation(ours, theirs)
	}
	if exists(ours) && !hollow && isQuantized(folder) {
		list[2] = j.quantized(folder, ours, theirs)
	}
	return list
}

// errUnasked says that there is no official exporter to ask.
var errUnasked = errors.New("no official exporter")

// theirs is the official program with XNNPACK: the one beside the model, or one made here. The payloads of a hollow one
// are empty.
func (j *judge) theirs(folder string) (file string, hollow bool, err error) {
	if file = filepath.Join(folder, "xnnpack.pte"); exists(file) {
		return file, false, nil
	}
	if j.official == nil {
		return "", false, errUnasked
	}
	args, err := methodFiles(folder)
	if err != nil {
		return "", false, err
	}
	models := map[string]string{}
	for _, a := range args {
		method, file := methodOf(a)
		if models[method], err = filepath.Abs(file); err != nil {
			return "", false, fmt.Errorf("find model: %w", err)
		}
	}
	file = filepath.Join(j.tmp, filepath.Base(folder)+"_official.pte")
	hollow, err = j.official.lower(models, file)
	return file, hollow, err
}

// methodOf splits an argument of pte lower.
func methodOf(arg string) (method, file string) {
	if method, file, ok := strings.Cut(arg, "="); ok {
		return method, file
	}
	return "forward", arg
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
		name, file := methodOf(m)
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
