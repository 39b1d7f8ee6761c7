// Package debuginfo is the file of `pte lower --debug`: which node of the exported program each instruction and each step
// of a backend came from. A .pte does not say so. The members that ExecuTorch's ETRecord has too have its names and shape.
package debuginfo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/runtime/pte"
)

// File is everything by method.
type File struct {
	// Plans are the digests of the methods' instructions, by which a file is known to belong to a program.
	Plans map[string]string `json:"plans"`
	// Handles maps an instruction to the debug handles of its nodes: those of a delegate's are all that it took.
	Handles map[string]map[int][]int `json:"debug_handle_map"`
	// Outs maps an instruction to the number of values that it makes.
	Outs map[string]map[int]int `json:"instruction_id_to_num_outs_map"`
	// Delegates maps the instructions that call a delegate to what that has inside.
	Delegates map[string]map[int]*Delegate `json:"delegate_map"`
	// Nodes are those of the exported program, by debug handle.
	Nodes map[string]map[int]*Node `json:"nodes"`
}

// Delegate is what one call of a backend has inside.
type Delegate struct {
	// Name is the backend's id.
	Name string `json:"name"`
	// Map gives the debug handles of the backend's steps, by name or by number in decimal.
	Map map[string][]int `json:"delegate_map"`
	// Outputs are the debug handles of the nodes whose results are the call's outputs; 0 where there is none.
	Outputs []int `json:"outputs"`
}

// Node is a node of the exported program.
type Node struct {
	Name string `json:"name"`
	// Op is the operator's full ATen name.
	Op string `json:"op"`
	// Module is the path of the innermost nn.Module.
	Module string `json:"module,omitempty"`
	// Where is the user's Python line as file:line, and Text that line.
	Where string `json:"where,omitempty"`
	Text  string `json:"text,omitempty"`
}

// New makes an empty File.
func New() *File {
	return &File{Plans: map[string]string{}, Handles: map[string]map[int][]int{}, Outs: map[string]map[int]int{},
		Delegates: map[string]map[int]*Delegate{}, Nodes: map[string]map[int]*Node{}}
}

// Add notes a method, whose plan is final. A nil File takes nothing.
func (f *File) Add(p *exir.Plan) {
	if f == nil {
		return
	}
	f.Plans[p.Name] = Digest(p.ExecutionPlan)
	handles, outs, delegates := map[int][]int{}, map[int]int{}, map[int]*Delegate{}
	f.Handles[p.Name], f.Outs[p.Name], f.Delegates[p.Name], f.Nodes[p.Name] = handles, outs, delegates, map[int]*Node{}
	for i, n := range p.Nodes {
		if n == nil {
			continue
		}
		if n.Op == exir.CallDelegate {
			outs[i] = len(n.Outs)
			delegates[i], handles[i] = f.delegate(p.Name, n.Args[0].Lowered)
			continue
		}
		outs[i] = 1
		if n.Op.Kind != "hop" { // whose instructions each make one of its results
			outs[i] = len(n.Outs)
		}
		if n.DebugHandle > 0 {
			handles[i] = []int{n.DebugHandle}
		}
		f.node(p.Name, n)
	}
}

// delegate notes the nodes of m, and gives what it has inside and their debug handles.
func (f *File) delegate(method string, m *exir.LoweredModule) (*Delegate, []int) {
	d := &Delegate{Name: m.BackendID, Map: m.DebugHandles}
	if d.Map == nil {
		d.Map = map[string][]int{}
	}
	graph := m.Program.Methods[0].Graph
	made := map[*exir.Value]int{}
	handles := []int{}
	_ = graph.Walk(func(g *exir.Graph) error { // f gives no error
		for _, n := range g.Nodes {
			f.node(method, n)
			for _, v := range n.Outs {
				made[v] = n.DebugHandle
			}
			if n.DebugHandle > 0 {
				handles = append(handles, n.DebugHandle)
			}
		}
		return nil
	})
	for i := range graph.Outputs {
		d.Outputs = append(d.Outputs, made[graph.Outputs[i].Value])
	}
	slices.Sort(handles)
	return d, slices.Compact(handles)
}

// node notes the exported node that n came from.
func (f *File) node(method string, n *exir.Node) {
	nodes := f.Nodes[method]
	if n.DebugHandle <= 0 || nodes[n.DebugHandle] != nil {
		return
	}
	node := &Node{Name: n.SourceName, Op: exir.PythonName(n.Source), Module: n.Module}
	if node.Name == "" {
		node.Name, node.Op = n.Name, exir.PythonName(n.Op.Name)
	}
	if frame := n.UserFrame(); frame != nil {
		node.Where, node.Text = frame.File+":"+strconv.Itoa(frame.Line), frame.Text
	}
	nodes[n.DebugHandle] = node
}

// Digest tells the instructions of one method from those of another: SHA-256 in hex.
func Digest(p *pte.ExecutionPlan) string {
	h := sha256.New()
	for _, o := range p.Operators {
		fmt.Fprintf(h, "%q %q\n", o.Name, o.Overload)
	}
	for _, d := range p.Delegates {
		fmt.Fprintf(h, "%q\n", d.ID)
	}
	for _, c := range p.Chains {
		for _, in := range c.Instructions {
			fmt.Fprintln(h, in.Type, in.A, in.B, in.Args)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Write writes the file as indented JSON.
func (f *File) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(f)
}

// Read reads what Write wrote. The error may be a *fs.PathError.
func Read(path string) (*File, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := New()
	if err := json.Unmarshal(b, f); err != nil {
		return nil, fmt.Errorf("read debug file: %w", err)
	}
	return f, nil
}

// Check gives an error unless the file was written with program p, whose constant methods are not in it.
func (f *File) Check(p *pte.Program) error {
	digests := map[string]string{}
	for _, plan := range p.Plans {
		digests[plan.Name] = Digest(plan)
	}
	for _, name := range slices.Sorted(maps.Keys(f.Plans)) {
		switch got, ok := digests[name]; {
		case !ok:
			return fmt.Errorf("check debug file: it belongs to another program: it has no method %s", name)
		case got != f.Plans[name]:
			return fmt.Errorf("check debug file: it belongs to another program: the instructions of method %s differ", name)
		}
	}
	return nil
}

// Of are the debug handles of instruction i of a method or, unless step is "", of that step of its delegate. A step
// without an entry has none.
func (f *File) Of(method string, i int, step string) []int {
	if f == nil {
		return nil
	}
	d := f.Delegates[method][i]
	if step == "" || d == nil {
		return f.Handles[method][i]
	}
	return d.Map[step]
}

// Node is the exported node of a debug handle, or nil.
func (f *File) Node(method string, handle int) *Node {
	if f == nil {
		return nil
	}
	return f.Nodes[method][handle]
}
