package pte

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rules-pte/rules_pte/runtime/pte"
)

// editZip writes a zip file anew with its records changed, also those of zip files within it; nil drops one.
func editZip(check func(error), b []byte, edit func(name string, text []byte) []byte) []byte {
	zr, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	check(err)
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for _, f := range zr.File {
		text, err := fs.ReadFile(zr, f.Name)
		check(err)
		if bytes.HasPrefix(text, []byte("PK\x03\x04")) {
			text = editZip(check, text, edit)
		}
		if text = edit(f.Name, text); text == nil {
			continue
		}
		w, err := zw.CreateHeader(&zip.FileHeader{Name: f.Name, Method: zip.Store})
		check(err)
		_, err = w.Write(text)
		check(err)
	}
	check(zw.Close())
	return out.Bytes()
}

// object is a JSON object.
type object = map[string]any

// chain is the model add with a chain of calls of these operators in the place of its only node. Node i comes from line
// 10+i of net.py.
func chain(check func(error), model []byte, ops []string) []byte {
	return editZip(check, model, func(name string, text []byte) []byte {
		if !strings.HasSuffix(name, "models/model.json") {
			return text
		}
		var doc object
		check(json.Unmarshal(text, &doc))
		graph := doc["graph_module"].(object)["graph"].(object)
		tensors := graph["tensor_values"].(object)
		one, err := json.Marshal(graph["nodes"].([]any)[0])
		check(err)
		var nodes []any
		last := "args_1"
		for i, op := range ops {
			out := fmt.Sprintf("x%d", i)
			if i == len(ops)-1 {
				out = "add"
			}
			tensors[out] = tensors["add"]
			var n object
			check(json.Unmarshal([]byte(strings.NewReplacer("torch.ops.aten.add.Tensor", "torch.ops."+op,
				`"args_1"`, `"`+last+`"`, `"add"`, `"`+out+`"`).Replace(string(one))), &n))
			n["metadata"].(object)["stack_trace"] = fmt.Sprintf("  File \"net.py\", line %d, in forward\n    x%d = f%d(x)\n", 10+i, i, i)
			nodes, last = append(nodes, n), out
		}
		graph["nodes"] = nodes
		text, err = json.Marshal(doc)
		check(err)
		return text
	})
}

// badPrograms are well-formed files that ask for what cannot be given.
func badPrograms() map[string]*pte.Program {
	one := func(arena int64, in ...pte.Instruction) *pte.Program {
		return &pte.Program{ConstantBuffers: [][]byte{nil}, DelegateData: [][]byte{{1}}, Plans: []*pte.ExecutionPlan{{
			Name: "forward", NonConstBufferSizes: []int64{0, arena}, Values: []pte.EValue{{Type: pte.Bool}},
			Operators: []pte.Operator{{Name: "mylib::fuse", Overload: "out"}},
			Delegates: []pte.BackendDelegate{{ID: "NoSuchBackend"}}, Chains: []pte.Chain{{Instructions: in}}}}}
	}
	return map[string]*pte.Program{
		"arena":   one(1 << 40),
		"loop":    one(16, pte.Instruction{Type: pte.JumpFalseCall}),
		"jump":    one(16, pte.Instruction{Type: pte.JumpFalseCall, B: 99}),
		"backend": one(16, pte.Instruction{Type: pte.DelegateCall}),
		"kernel":  one(16, pte.Instruction{Type: pte.KernelCall}),
	}
}
