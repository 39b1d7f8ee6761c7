// Package verifier checks that a byte slice is a well-formed flatbuffer of a given schema, so that generated
// accessors can read it without a panic.
//
// The rules are those of the C++ flatbuffers Verifier: offsets stay inside the buffer, scalars are aligned, strings
// end in NUL, and depth and number of tables are bounded.
package verifier

import "strconv"

// The limits of the C++ Verifier's defaults.
const (
	MaxDepth  = 64
	MaxTables = 1_000_000
	MaxSize   = 1<<31 - 1
)

// Kind says how a field is stored.
type Kind uint8

// The kinds of field.
const (
	Scalar       Kind = iota // Size bytes in the table; also a struct
	String                   // offset of a NUL-terminated string
	Table                    // offset of table Ref
	Vector                   // offset of a vector of elements of Size bytes
	VectorString             // offset of a vector of strings
	VectorTable              // offset of a vector of tables Ref
	Union                    // a type byte at Slot, an offset of a member of union Ref at Slot+1
)

// Field is one field of a table.
type Field struct {
	Name     string
	Slot     uint16
	Kind     Kind
	Size     uint8 // bytes of a scalar or of a vector's element
	Align    uint8 // of a scalar
	Required bool
	Ref      int // index into Schema.Tables or Schema.Unions
}

// TableType is a table of a schema.
type TableType struct {
	Name   string
	Fields []Field
}

// Schema is what tools/fbs generates from a .fbs file.
type Schema struct {
	Identifier string
	Root       int
	Tables     []TableType
	// Unions list the table of each member; entry 0, NONE, is -1.
	Unions [][]int
}

// Error is a fault of a flatbuffer: Msg, at byte Offset, in table and field Where.
type Error struct {
	Where  string
	Offset int
	Msg    string
}

// Error is the fault in one line.
func (e *Error) Error() string {
	return "verify flatbuffer: " + e.Where + " at byte " + strconv.Itoa(e.Offset) + ": " + e.Msg
}

// Verify checks all that can be reached from the root of buf. The error, if any, is an *Error.
func (s *Schema) Verify(buf []byte) error {
	v := &walk{schema: s, buf: buf}
	if !v.start() {
		return v.err
	}
	v.table(uint64(v.u32(0)), s.Root)
	if v.err != nil {
		return v.err
	}
	return nil
}

type walk struct {
	schema *Schema
	buf    []byte
	tables int
	depth  int
	err    *Error
	where  string
}

func (v *walk) start() bool {
	v.where = "root"
	switch {
	case len(v.buf) < 8:
		return v.fail(0, "got "+strconv.Itoa(len(v.buf))+" bytes, want at least 8")
	case len(v.buf) >= MaxSize:
		return v.fail(0, "larger than 2 GiB")
	case string(v.buf[4:8]) != v.schema.Identifier:
		return v.fail(4, "got identifier "+strconv.Quote(string(v.buf[4:8]))+", want "+strconv.Quote(v.schema.Identifier))
	case v.u32(0) < 8:
		return v.fail(0, "root offset inside the header")
	}
	return true
}

func (v *walk) fail(pos uint64, msg string) bool {
	if v.err == nil {
		v.err = &Error{Where: v.where, Offset: int(pos), Msg: msg}
	}
	return false
}

func (v *walk) u32(pos uint64) uint32 {
	b := v.buf[pos : pos+4]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func (v *walk) u16(pos uint64) uint64 {
	return uint64(v.buf[pos]) | uint64(v.buf[pos+1])<<8
}

// span checks that n bytes at pos lie in the buffer and that pos is a multiple of align.
func (v *walk) span(pos, n, align uint64) bool {
	size := uint64(len(v.buf))
	if n > size || pos > size-n {
		return v.fail(pos, "outside of the buffer")
	}
	if pos&(align-1) != 0 {
		return v.fail(pos, "not aligned to "+strconv.FormatUint(align, 10))
	}
	return true
}

// target follows the offset stored at pos.
func (v *walk) target(pos uint64) (uint64, bool) {
	if !v.span(pos, 4, 4) {
		return 0, false
	}
	off := uint64(v.u32(pos))
	if off == 0 || off > MaxSize {
		return 0, v.fail(pos, "bad offset "+strconv.FormatUint(off, 10))
	}
	return pos + off, v.span(pos+off, 1, 1)
}

// vtable is the table's list of field offsets.
type vtable struct{ pos, size uint64 }

func (v *walk) vtable(pos uint64) (vtable, bool) {
	if !v.span(pos, 4, 4) {
		return vtable{}, false
	}
	at := int64(pos) - int64(int32(v.u32(pos)))
	if at < 0 || at > int64(len(v.buf)) {
		return vtable{}, v.fail(pos, "vtable outside of the buffer")
	}
	if !v.span(uint64(at), 2, 2) {
		return vtable{}, false
	}
	size := v.u16(uint64(at))
	if size < 4 || size&1 != 0 {
		return vtable{}, v.fail(uint64(at), "bad vtable size "+strconv.FormatUint(size, 10))
	}
	return vtable{uint64(at), size}, v.span(uint64(at), size, 2)
}

// field is the field's offset in its table, 0 when absent.
func (v *walk) field(t vtable, slot uint16) uint64 {
	at := 4 + 2*uint64(slot)
	if at >= t.size {
		return 0
	}
	return v.u16(t.pos + at)
}

func (v *walk) table(pos uint64, ref int) bool {
	typ := &v.schema.Tables[ref]
	v.where = typ.Name
	v.tables++
	v.depth++
	if v.depth > MaxDepth {
		return v.fail(pos, "nested deeper than "+strconv.Itoa(MaxDepth))
	}
	if v.tables > MaxTables {
		return v.fail(pos, "more than "+strconv.Itoa(MaxTables)+" tables")
	}
	vt, ok := v.vtable(pos)
	for i := 0; ok && i < len(typ.Fields); i++ {
		f := &typ.Fields[i]
		v.where = typ.Name
		if off := v.field(vt, f.Slot); off != 0 || f.Kind == Union {
			ok = v.value(pos, off, vt, f)
		} else if f.Required {
			ok = v.fail(pos, "missing "+f.Name)
		}
		if !ok && v.err != nil && v.err.Where == typ.Name {
			v.err.Where = typ.Name + "." + f.Name
		}
	}
	v.depth--
	return ok
}

func (v *walk) value(pos, off uint64, vt vtable, f *Field) bool {
	switch f.Kind {
	case Scalar:
		return v.span(pos+off, uint64(f.Size), uint64(f.Align))
	case Union:
		return v.union(pos, off, vt, f)
	}
	to, ok := v.target(pos + off)
	if !ok {
		return false
	}
	switch f.Kind {
	case String:
		return v.string(to)
	case Table:
		return v.table(to, f.Ref)
	case VectorString:
		return v.each(to, v.string)
	case VectorTable:
		return v.each(to, func(at uint64) bool { return v.table(at, f.Ref) })
	}
	_, ok = v.vector(to, uint64(f.Size))
	return ok
}

// vector checks the range of a vector and gives its length.
func (v *walk) vector(pos, elem uint64) (uint64, bool) {
	if !v.span(pos, 4, 4) {
		return 0, false
	}
	n := uint64(v.u32(pos))
	return n, v.span(pos, 4+n*elem, 4)
}

func (v *walk) string(pos uint64) bool {
	n, ok := v.vector(pos, 1)
	if !ok || !v.span(pos+4+n, 1, 1) {
		return false
	}
	return v.buf[pos+4+n] == 0 || v.fail(pos, "string without a NUL")
}

// each checks every target of a vector of offsets.
func (v *walk) each(pos uint64, check func(uint64) bool) bool {
	n, ok := v.vector(pos, 4)
	where := v.where
	for i := uint64(0); ok && i < n; i++ {
		v.where = where
		var to uint64
		if to, ok = v.target(pos + 4 + 4*i); ok {
			ok = check(to)
		}
	}
	return ok
}

func (v *walk) union(pos, off uint64, vt vtable, f *Field) bool {
	kind := 0
	if off != 0 {
		if !v.span(pos+off, 1, 1) {
			return false
		}
		kind = int(v.buf[pos+off])
	}
	members := v.schema.Unions[f.Ref]
	if kind >= len(members) {
		return v.fail(pos, "unknown member "+strconv.Itoa(kind))
	}
	at := v.field(vt, f.Slot+1)
	if at == 0 {
		return kind == 0 || v.fail(pos, "member without a value")
	}
	to, ok := v.target(pos + at)
	return ok && (kind == 0 || v.table(to, members[kind]))
}
