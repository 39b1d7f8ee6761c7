package tensor

// ScalarType is an element type, numbered as in ExecuTorch's schema/scalar_type.fbs.
type ScalarType int8

// The element types that programs may hold.
const (
	Byte     ScalarType = 0  // uint8
	Char     ScalarType = 1  // int8
	Short    ScalarType = 2  // int16
	Int      ScalarType = 3  // int32
	Long     ScalarType = 4  // int64
	Half     ScalarType = 5  // float16
	Float    ScalarType = 6  // float32
	Double   ScalarType = 7  // float64
	Bool     ScalarType = 11 // one byte, 0 or 1
	BFloat16 ScalarType = 15
	UInt16   ScalarType = 27
	UInt32   ScalarType = 28
	UInt64   ScalarType = 29
	// Undefined is no element type.
	Undefined ScalarType = -1
)

type typeInfo struct {
	name, short string
	size        int8
}

var typeInfos = [...]typeInfo{
	Byte: {"uint8", "u8", 1}, Char: {"int8", "i8", 1}, Short: {"int16", "i16", 2}, Int: {"int32", "i32", 4},
	Long: {"int64", "i64", 8}, Half: {"float16", "f16", 2}, Float: {"float32", "f32", 4}, Double: {"float64", "f64", 8},
	Bool: {"bool", "bool", 1}, BFloat16: {"bfloat16", "bf16", 2},
	UInt16: {"uint16", "u16", 2}, UInt32: {"uint32", "u32", 4}, UInt64: {"uint64", "u64", 8},
}

func (t ScalarType) info() typeInfo {
	if !t.Valid() {
		return typeInfo{"undefined", "?", 0}
	}
	return typeInfos[t]
}

// Valid reports whether t is one of the types above.
func (t ScalarType) Valid() bool { return t.Size() != 0 }

// Size is the bytes of an element; 0 for a type that is not Valid.
func (t ScalarType) Size() int {
	if t < 0 || int(t) >= len(typeInfos) {
		return 0
	}
	return int(typeInfos[t].size)
}

// String is PyTorch's name without "torch.", such as "float32".
func (t ScalarType) String() string { return t.info().name }

// Short is the name in texts and identifiers, such as "f32".
func (t ScalarType) Short() string { return t.info().short }

// IsFloat reports a floating-point type.
func (t ScalarType) IsFloat() bool { return t == Half || t == Float || t == Double || t == BFloat16 }

// IsIntegral reports an integer type; Bool is one only if withBool.
func (t ScalarType) IsIntegral(withBool bool) bool {
	return t.Valid() && !t.IsFloat() && (withBool || t != Bool)
}

// Category ranks types as PyTorch's promotion does: it is 0 for Bool, 1 for integers, 2 for floats, -1 for none.
func (t ScalarType) Category() int {
	switch {
	case !t.Valid():
		return -1
	case t == Bool:
		return 0
	case t.IsFloat():
		return 2
	}
	return 1
}

// ParseScalarType is the type with this String or Short name, or Undefined.
func ParseScalarType(name string) ScalarType {
	for i, info := range typeInfos {
		if info.size != 0 && (info.name == name || info.short == name) {
			return ScalarType(i)
		}
	}
	return Undefined
}
