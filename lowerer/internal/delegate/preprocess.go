package delegate

import (
	"bytes"
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/backend"
	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
)

// preprocess lets the entry's backend make the payloads of its pieces, all at once if it can.
func (r *runner) preprocess(e *Entry, pieces []*piece) error {
	if len(pieces) == 0 {
		return nil
	}
	b, c := e.Backend, *r.context
	c.Partitioner = e.Partitioner
	if !backend.ReadsWeights(b) {
		c.Constant = nil
	}
	if multi, ok := b.(backend.MultiMethodPreprocessor); ok {
		return r.together(b.ID(), multi, &c, pieces)
	}
	var errs diag.List
	for _, pc := range pieces {
		out, err := b.Preprocess(&c, pc.program, pc.spec.CompileSpecs)
		if err == nil {
			err = r.install(pc, out)
		}
		errs.Add(diag.PreprocessFailed, failed(pc, err))
	}
	return errs.Err()
}

func failed(pc *piece, err error) error {
	if err == nil {
		return nil
	}
	if d, ok := err.(*diag.Error); ok {
		return d
	}
	return diag.New(diag.PreprocessFailed, "method "+pc.method.Name, "%s: preprocess %s: %w", pc.module.BackendID, pc.module.Name, err)
}

func (r *runner) together(id string, b backend.MultiMethodPreprocessor, c *backend.Context, pieces []*piece) error {
	programs, specs, byMethod := map[string][]*exir.EdgeProgram{}, map[string][][]backend.CompileSpec{}, map[string][]*piece{}
	for _, pc := range pieces {
		name := pc.method.Name
		programs[name] = append(programs[name], pc.program)
		specs[name] = append(specs[name], pc.spec.CompileSpecs)
		byMethod[name] = append(byMethod[name], pc)
	}
	results, err := b.PreprocessMultiMethod(c, programs, specs)
	if err != nil {
		return diag.New(diag.PreprocessFailed, "", "%s: preprocess all methods: %w", id, err)
	}
	var errs diag.List
	for _, m := range r.p.Methods {
		got, want := results[m.Name], byMethod[m.Name]
		if len(got) != len(want) {
			errs = append(errs, diag.New(diag.PreprocessFailed, "method "+m.Name, "%s: preprocess gave %d results for %d partitions",
				id, len(got), len(want)))
			continue
		}
		for i, pc := range want {
			errs.Add(diag.PreprocessFailed, failed(pc, r.install(pc, got[i])))
		}
	}
	return errs.Err()
}

// install puts what the backend made of the piece into its module.
func (r *runner) install(pc *piece, out *backend.PreprocessResult) error {
	if out == nil {
		return fmt.Errorf("no result")
	}
	if err := r.named.Merge(out.NamedData); err != nil {
		return diag.New(diag.NamedDataConflict, "method "+pc.method.Name, "%s: %w", pc.module.BackendID, err)
	}
	r.p.Requirements = append(r.p.Requirements, out.Requirements...)
	pc.module.Processed = blob(out.ProcessedBytes, &r.named)
	pc.module.ArenaPadding = out.ArenaPadding
	pc.module.DebugHandles = map[string][]int{}
	for id, handles := range out.DebugHandleMap {
		pc.module.DebugHandles[id.String()] = handles
	}
	return nil
}

// blob finds the placeholders of content keys in a payload.
func blob(data []byte, named *backend.NamedDataStore) exir.Blob {
	b := exir.Blob{Bytes: data}
	known := map[string]bool{}
	for _, e := range named.Entries() {
		known[e.Key] = e.ByContent
	}
	for at := 0; ; {
		i := bytes.Index(data[at:], []byte(exir.KeyPrefix))
		if i < 0 {
			return b
		}
		at += i
		if end := at + exir.KeyLength; end <= len(data) && known[string(data[at:end])] {
			b.Places = append(b.Places, exir.KeyPlace{Offset: at, Key: string(data[at:end])})
		}
		at += len(exir.KeyPrefix)
	}
}
