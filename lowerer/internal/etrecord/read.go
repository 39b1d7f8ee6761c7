package etrecord

import (
	"archive/zip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/rules-pte/rules_pte/lowerer/exir"
	"github.com/rules-pte/rules_pte/lowerer/internal/debuginfo"
	"github.com/rules-pte/rules_pte/lowerer/internal/pt2"
)

// maxMember is how many bytes of JSON a member may have.
const maxMember = 256 << 20

// Is reports whether the file at path is an archive, as an ETRecord is.
func Is(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, 4)
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == "PK\x03\x04"
}

// Read reads what Write wrote, or ExecuTorch's own exporter. The nodes are those of the Edge dialect. The file does not say
// which program it belongs to. The error may be a *fs.PathError.
func Read(path string) (*debuginfo.File, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("read ETRecord: %w", err)
	}
	defer z.Close()
	if _, err := fs.Stat(z, "ETRECORD_V0"); err != nil {
		return nil, errors.New("read ETRecord: it has no member ETRECORD_V0")
	}
	d := debuginfo.New()
	for _, f := range z.File {
		if err := readMember(f, d); err != nil {
			return nil, fmt.Errorf("read ETRecord: member %s: %w", f.Name, err)
		}
	}
	return d, nil
}

// readMember puts what a member says into d.
func readMember(f *zip.File, d *debuginfo.File) error {
	method, edge := strings.CutPrefix(f.Name, edgeProgram+"/")
	for _, part := range parts {
		edge = edge && !strings.HasSuffix(method, part)
	}
	switch {
	case f.Name == handleMap:
		return readHandles(f, d)
	case f.Name == delegateMap:
		return readDelegates(f, d)
	case f.Name == outsMap:
		return decode(f, &d.Outs)
	case f.Name == edgeProgram:
		return readNodes(f, "forward", d)
	case edge:
		return readNodes(f, method, d)
	}
	return nil
}

func decode(f *zip.File, into any) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if f.UncompressedSize64 > maxMember {
		return fmt.Errorf("it has %d bytes, more than %d", f.UncompressedSize64, maxMember)
	}
	return json.NewDecoder(io.LimitReader(r, maxMember)).Decode(into)
}

// handleList is a debug handle or a list of them.
type handleList []int

// UnmarshalJSON reads a number, a list or null.
func (h *handleList) UnmarshalJSON(b []byte) error {
	var one int
	if json.Unmarshal(b, &one) == nil && string(b) != "null" {
		*h = handleList{one}
		return nil
	}
	return json.Unmarshal(b, (*[]int)(h))
}

func readHandles(f *zip.File, d *debuginfo.File) error {
	var maps map[string]map[int]handleList
	if err := decode(f, &maps); err != nil {
		return err
	}
	for method, m := range maps {
		d.Handles[method] = map[int][]int{}
		for i, h := range m {
			d.Handles[method][i] = h
		}
	}
	return nil
}

func readDelegates(f *zip.File, d *debuginfo.File) error {
	var maps map[string]map[int]struct {
		Name    string                `json:"name"`
		Map     map[string]handleList `json:"delegate_map"`
		Outputs []int                 `json:"outputs"`
	}
	if err := decode(f, &maps); err != nil {
		return err
	}
	for method, m := range maps {
		d.Delegates[method] = map[int]*debuginfo.Delegate{}
		for i, x := range m {
			steps := map[string][]int{}
			for id, h := range x.Map {
				steps[id] = h
			}
			d.Delegates[method][i] = &debuginfo.Delegate{Name: x.Name, Map: steps, Outputs: x.Outputs}
		}
	}
	return nil
}

func readNodes(f *zip.File, method string, d *debuginfo.File) error {
	var p struct {
		GraphModule struct {
			Graph struct {
				Nodes []struct {
					Name     string            `json:"name"`
					Target   string            `json:"target"`
					Metadata map[string]string `json:"metadata"`
				} `json:"nodes"`
			} `json:"graph"`
		} `json:"graph_module"`
	}
	if err := decode(f, &p); err != nil {
		return err
	}
	nodes := map[int]*debuginfo.Node{}
	for _, n := range p.GraphModule.Graph.Nodes {
		handle, err := strconv.Atoi(n.Metadata["debug_handle"])
		if err != nil || handle <= 0 || nodes[handle] != nil {
			continue
		}
		origin := exir.Origin{Frames: pt2.ParseFrames(n.Metadata["stack_trace"])}
		node := &debuginfo.Node{Name: n.Name, Op: strings.TrimPrefix(n.Target, edgeOps), Module: pt2.ModulePath(n.Metadata["nn_module_stack"])}
		if frame := origin.UserFrame(); frame != nil {
			node.Where, node.Text = frame.File+":"+strconv.Itoa(frame.Line), frame.Text
		}
		nodes[handle] = node
	}
	d.Nodes[method] = nodes
	return nil
}
