package pt2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// unpickler runs a pickle of protocol 2 (Lib/pickletools.py), of which it
// knows only what torch.save writes of tensors; no code is ever called.
type unpickler struct {
	in      []byte
	pos     int
	stack   []any
	memo    map[uint32]any
	storage func(key string) (record, bool)
}

var errShort = errors.New("cut off")

func (p *unpickler) take(n int) ([]byte, error) {
	if n < 0 || n > len(p.in)-p.pos {
		return nil, errShort
	}
	b := p.in[p.pos : p.pos+n]
	p.pos += n
	return b, nil
}

// uint reads a little-endian number of n bytes.
func (p *unpickler) uint(n int) (uint64, error) {
	b, err := p.take(n)
	if err != nil {
		return 0, err
	}
	var buf [8]byte
	copy(buf[:], b)
	return binary.LittleEndian.Uint64(buf[:]), nil
}

func (p *unpickler) line() (string, error) {
	i := bytes.IndexByte(p.in[p.pos:], '\n')
	if i < 0 {
		return "", errShort
	}
	b, err := p.take(i + 1)
	return string(b[:len(b)-1]), err
}

func (p *unpickler) push(v any) { p.stack = append(p.stack, v) }

func (p *unpickler) pop() (any, error) {
	n := len(p.stack)
	if n == 0 {
		return nil, errors.New("stack is empty")
	}
	v := p.stack[n-1]
	p.stack = p.stack[:n-1]
	return v, nil
}

// popMark takes everything above the last mark, and the mark.
func (p *unpickler) popMark() ([]any, error) {
	for i := len(p.stack) - 1; i >= 0; i-- {
		if _, ok := p.stack[i].(mark); ok {
			items := append([]any(nil), p.stack[i+1:]...)
			p.stack = p.stack[:i]
			return items, nil
		}
	}
	return nil, errors.New("no mark")
}

func (p *unpickler) popN(n int) ([]any, error) {
	if len(p.stack) < n {
		return nil, errors.New("stack is empty")
	}
	items := append([]any(nil), p.stack[len(p.stack)-n:]...)
	p.stack = p.stack[:len(p.stack)-n]
	return items, nil
}

func (p *unpickler) run() (any, error) {
	for {
		op, err := p.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' { // STOP
			return p.pop()
		}
		step, ok := opcodes[op[0]]
		if !ok {
			return nil, fmt.Errorf("opcode %q is not allowed", op[0])
		}
		if err := step(p); err != nil {
			return nil, err
		}
	}
}

var opcodes map[byte]func(*unpickler) error

func init() {
	constant := func(v any) func(*unpickler) error {
		return func(p *unpickler) error { p.push(v); return nil }
	}
	opcodes = map[byte]func(*unpickler) error{
		0x80: func(p *unpickler) error { _, err := p.take(1); return err }, // PROTO
		'N':  constant(nil), 0x88: constant(true), 0x89: constant(false), '(': constant(mark{}),
		'}': func(p *unpickler) error { p.push(&dict{}); return nil },
		']': func(p *unpickler) error { p.push(&list{}); return nil },
		')': constant(tuple{}),
		'K': integer(1), 'M': integer(2), 'J': integer(4), // BININT1, BININT2, BININT
		0x8a: (*unpickler).long, 'G': (*unpickler).float, 'X': (*unpickler).text, 'c': (*unpickler).global,
		't':  func(p *unpickler) error { items, err := p.popMark(); p.push(tuple(items)); return err },
		0x85: tupleOf(1), 0x86: tupleOf(2), 0x87: tupleOf(3),
		'q': put(1), 'r': put(4), 'h': get(1), 'j': get(4),
		's': (*unpickler).setItem, 'u': (*unpickler).setItems, 'a': (*unpickler).appendItem, 'e': (*unpickler).appendItems,
		'Q': (*unpickler).persistentID, 'R': (*unpickler).call, 'b': func(p *unpickler) error { _, err := p.pop(); return err }, // BUILD
	}
}

func integer(n int) func(*unpickler) error {
	return func(p *unpickler) error {
		v, err := p.uint(n)
		if n == 4 {
			v = uint64(int64(int32(v)))
		}
		p.push(int64(v))
		return err
	}
}

// long is LONG1: a length and that many bytes, two's complement.
func (p *unpickler) long() error {
	n, err := p.uint(1)
	if err != nil {
		return err
	}
	if n > 8 {
		return errors.New("integer is too large")
	}
	v, err := p.uint(int(n))
	if n > 0 {
		shift := 64 - 8*n
		v = uint64(int64(v<<shift) >> shift)
	}
	p.push(int64(v))
	return err
}

func (p *unpickler) float() error {
	b, err := p.take(8)
	if err == nil {
		p.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	return err
}

func (p *unpickler) text() error {
	n, err := p.uint(4)
	if err != nil {
		return err
	}
	b, err := p.take(int(n))
	p.push(string(b))
	return err
}

func (p *unpickler) global() error {
	module, err := p.line()
	if err != nil {
		return err
	}
	name, err := p.line()
	g := global(module + "." + name)
	if err == nil && !allowed(g) {
		err = fmt.Errorf("%q is not allowed; only plain tensors can be read without Python", g)
	}
	p.push(g)
	return err
}

func tupleOf(n int) func(*unpickler) error {
	return func(p *unpickler) error {
		items, err := p.popN(n)
		p.push(tuple(items))
		return err
	}
}

func put(n int) func(*unpickler) error {
	return func(p *unpickler) error {
		i, err := p.uint(n)
		if err != nil || len(p.stack) == 0 {
			return errShort
		}
		p.memo[uint32(i)] = p.stack[len(p.stack)-1]
		return nil
	}
}

func get(n int) func(*unpickler) error {
	return func(p *unpickler) error {
		i, err := p.uint(n)
		if err != nil {
			return err
		}
		v, ok := p.memo[uint32(i)]
		if !ok {
			return fmt.Errorf("memo %d is not set", i)
		}
		p.push(v)
		return nil
	}
}

func (p *unpickler) setItem() error {
	items, err := p.popN(2)
	if err != nil {
		return err
	}
	return p.extendDict(items)
}

func (p *unpickler) setItems() error {
	items, err := p.popMark()
	if err != nil {
		return err
	}
	return p.extendDict(items)
}

func (p *unpickler) extendDict(items []any) error {
	if len(p.stack) > 0 && len(items)%2 == 0 {
		if d, ok := p.stack[len(p.stack)-1].(*dict); ok {
			d.items = append(d.items, items...)
			return nil
		}
	}
	return errors.New("items for something that is no dict")
}

func (p *unpickler) appendItem() error {
	items, err := p.popN(1)
	if err != nil {
		return err
	}
	return p.extendList(items)
}

func (p *unpickler) appendItems() error {
	items, err := p.popMark()
	if err != nil {
		return err
	}
	return p.extendList(items)
}

func (p *unpickler) extendList(items []any) error {
	if len(p.stack) > 0 {
		if l, ok := p.stack[len(p.stack)-1].(*list); ok {
			l.items = append(l.items, items...)
			return nil
		}
	}
	return errors.New("items for something that is no list")
}

func (p *unpickler) persistentID() error {
	id, err := p.pop()
	if err != nil {
		return err
	}
	v, err := p.persistent(id)
	p.push(v)
	return err
}

func (p *unpickler) call() error {
	items, err := p.popN(2)
	if err != nil {
		return err
	}
	v, err := p.reduce(items[0], items[1])
	p.push(v)
	return err
}
