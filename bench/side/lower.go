package side

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// lower makes our program, which sides share, and its worker where the side has one of its own. What was made before stays.
func (k *Kit) lower(m *Model, s *Side) (string, error) {
	stem := filepath.Join(k.tmp, m.Name)
	if s.Partition != "" {
		stem += "_" + s.Partition
	}
	program := stem + ".pte"
	if !exists(program) {
		if err := k.makeProgram(m, s.Partition, stem); err != nil {
			return "", err
		}
	}
	if s.Worker == nil && !exists(workerOf(program)) {
		if err := k.link(s, stem); err != nil {
			return "", fmt.Errorf("link worker: %w", err)
		}
	}
	return program, nil
}

// makeProgram lowers to stem.pte and stem.manifest, in the steps that rules take.
func (k *Kit) makeProgram(m *Model, partition, stem string) error {
	spec := stem + ".pte.cue"
	if err := os.WriteFile(spec, []byte(m.spec(partition)), 0o600); err != nil {
		return fmt.Errorf("write spec: %w", err)
	}
	program := []string{"lower", "program", "--spec", spec, "-o", stem + ".ptep", "--report", stem + ".report"}
	pack := []string{"lower", "pack", "--program", stem + ".ptep", "-o", stem + ".pte", "--manifest", stem + ".manifest"}
	var steps [][]string
	for _, name := range sortedKeys(m.methods) {
		model, graph := name+"="+m.methods[name], stem+"_"+name+".pt2s"
		steps = append(steps, []string{"lower", "split", "--model", model, "-o", graph})
		program, pack = append(program, "--graph", name+"="+graph), append(pack, "--model", model)
	}
	for _, args := range append(steps, program, pack) {
		if err := call(k.Pte, args...); err != nil {
			return fmt.Errorf("lower: %w", err)
		}
	}
	return nil
}

// spec is the model's, whose files have the names of methods, for a backend or "".
func (m *Model) spec(partition string) string {
	text := "package bench\n\nimport (\n\t\"github.com/rules-pte/rules_pte/cue/lower\"\n"
	if partition != "" {
		text += "\t\"github.com/rules-pte/rules_pte/backends/" + partition + "\"\n"
	}
	text += ")\n\nlower.#Program & {\n"
	for _, name := range sortedKeys(m.methods) {
		text += fmt.Sprintf("\tmethods: %s: model: %q\n", name, name)
	}
	if partition != "" {
		text += "\tpartition: [" + partition + ".#Backend]\n"
	}
	return text + "}\n"
}

// workerOf is the file of the worker that has what one program needs.
func workerOf(program string) string { return program + ".worker" }

// link builds the worker of the program stem.pte: the command linked, with the package that pte_runtime generates from stem.manifest. It wants
// the module's sources and `go`.
func (k *Kit) link(s *Side, stem string) error {
	root, err := filepath.Abs(os.Getenv("BUILD_WORKSPACE_DIRECTORY")) // which `bazel run` sets
	if err != nil {
		return err
	}
	if k.builder == "" {
		builder := filepath.Join(k.tmp, "builder")
		if err := callIn(root, "go", "build", "-o", builder, "./rules/go/builder"); err != nil {
			return err
		}
		k.builder = builder
	}
	generated, overlay, built := stem+".go", stem+".overlay", stem+".bin"
	args := []string{"runtime", "-out=" + generated, "-manifest=" + s.Name + "|" + stem + ".manifest"}
	if s.Partition != "" {
		dir := "backends/" + s.Partition
		pkg := "github.com/rules-pte/rules_pte/" + dir
		args = append(args, fmt.Sprintf("-backend=%s|%s/backend.json|%s/aot|%s/rt", s.Partition, dir, pkg, pkg))
	}
	if err := callIn(root, k.builder, args...); err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "pteprogram", "pteprogram.go"): generated}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return err
	}
	if err := callIn(root, "go", "build", "-overlay="+overlay, "-o", built, "./bench/side/linked"); err != nil {
		return err
	}
	return errors.Join(copyWorker(built, workerOf(stem+".pte")), os.Remove(built))
}
