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
	none := verdict{state: "none"}
	ours := filepath.Join(j.tmp, r.name+".pte")
	r.verdicts = [...]verdict{j.lower(folder, ours), none, none, none, none}
	if r.verdicts[0].state == "ok" {
		r.verdicts[1] = j.runOurs(folder, ours)
		r.verdicts[2] = j.runOfficial(folder, ours)
	} else if j.official == nil {
		r.verdicts[2] = verdict{}
	}
	for i, file := range []string{"portable.pte", "xnnpack.pte"} {
		if file = filepath.Join(folder, file); exists(file) {
			r.verdicts[3+i] = j.runOurs(folder, file)
		}
	}
	return r
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func (j *judge) lower(folder, out string) verdict {
	models, err := methodFiles(folder)
	if err != nil {
		return fail(err.Error())
	}
	_, stderr, err := j.call(append([]string{"lower", "-o", out}, models...))
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
	portable := filepath.Join(folder, "portable.pte")
	if !exists(portable) {
		return false
	}
	r, err := j.official.run(folder, portable)
	return err == nil && r == reason
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
