package pt2

import (
	"errors"
	"fmt"

	"github.com/rules-pte/rules_pte/lowerer/diag"
	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/symint"
)

// supportedMajor is the schema version; minor versions only add to it.
const supportedMajor = 8

// Load reads a program as the method of that name, with its symbolic sizes in
// shapes. Where the archive has a model of that name it is read, else the
// model "model" or the only one there is. A symbol whose name shapes has from
// another method is called METHOD.NAME. An operator that PyTorch's own schemas lack gets one without types, for later
// stages to refuse it. The error is a diag.List whose places begin with the file.
func (a *Archive) Load(method string, shapes *symint.Table) (m *exir.Method, torchVersion string, err error) {
	defer func() {
		if err != nil {
			err = diag.At(a.path, diag.ModelFormat, err)
		}
	}()
	model, err := a.pick(method)
	if err != nil {
		return nil, "", err
	}
	text, err := a.read(a.root + "models/" + model + ".json")
	if err != nil {
		return nil, "", err
	}
	var p programJSON
	if err := decodeJSON(text, &p); err != nil {
		return nil, "", damaged(fmt.Errorf("parse models/%s.json: %w", model, err))
	}
	if p.Schema.Major != supportedMajor {
		return nil, p.TorchVersion, otherVersion("the model is of torch %s and has schema version %d.%d, want %d.x",
			p.TorchVersion, p.Schema.Major, p.Schema.Minor, supportedMajor)
	}
	tables, err := a.tables(model)
	if err != nil {
		return nil, p.TorchVersion, tablesError(method, err)
	}
	l := &loader{archive: a, tables: tables, method: method, schemas: map[string]*exir.Schema{}, frames: map[string][]exir.Frame{}}
	l.symbols = newSymbols(shapes, method, p.Ranges, &p.Module.Graph)
	l.symbols.equate(&p)
	m, err = l.load(&p)
	if err != nil {
		return nil, p.TorchVersion, malformed(method, err)
	}
	return m, p.TorchVersion, nil
}

// tablesError is an error about the weights and constants.
func tablesError(method string, err error) error {
	if code, _ := verdict(err); code != diag.ModelMalformed {
		return malformed(method, err)
	}
	return damaged(err)
}

// malformed is err as an error about the method, if it has no place yet.
func malformed(method string, err error) error {
	var at *diag.Error
	if errors.As(err, &at) {
		return err
	}
	code, hint := verdict(err)
	return diag.New(code, method, "%w", err).WithHint("%s", hint)
}

// verdict is the code of an error about the graph, and what to do about it: an element type that programs cannot have is
// no fault of the file.
func verdict(err error) (code diag.Code, hint string) {
	var elementType elementTypeError
	if errors.As(err, &elementType) {
		return diag.UnsupportedDType, elementType.hint()
	}
	h := hinted{hint: exportAgain}
	errors.As(err, &h)
	return diag.ModelMalformed, h.hint
}

// hinted is an error that knows what to do about it.
type hinted struct{ msg, hint string }

// Error implements error.
func (h hinted) Error() string { return h.msg }

func (a *Archive) pick(method string) (string, error) {
	models := a.Models()
	for _, want := range []string{method, "model"} {
		for _, m := range models {
			if m == want {
				return m, nil
			}
		}
	}
	if len(models) == 1 {
		return models[0], nil
	}
	return "", diag.New(diag.ModelFormat, "", "the archive has no model %q; it has %q", method, models).
		WithHint("name a method of the spec as one of its models")
}

// loader turns one program into a method.
type loader struct {
	archive *Archive
	tables  *tables
	symbols *symbolTable
	method  string
	handle  int
	depth   int
	schemas map[string]*exir.Schema // of higher-order operators
	frames  map[string][]exir.Frame
}

func (l *loader) load(p *programJSON) (*exir.Method, error) {
	s := &scope{loader: l, json: &p.Module.Graph, values: map[string]*exir.Value{}, names: map[string]bool{}, graph: &exir.Graph{}}
	call := p.Module.call()
	m := &exir.Method{Name: l.method, Graph: s.graph, InSpec: call.InSpec, OutSpec: call.OutSpec}
	if err := s.signatureInputs(m, p.Module.Signature.Inputs); err != nil {
		return nil, err
	}
	if err := s.nodes(); err != nil {
		return nil, err
	}
	if err := s.signatureOutputs(m, p.Module.Signature.Outputs); err != nil {
		return nil, err
	}
	m.Ranges = l.symbols.ranges()
	return m, nil
}
