#!/bin/sh
# Makes speech.wav: three sentences by espeak-ng, with quiet noise between them.
set -e
out=$PWD/speech.wav
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

say() {
	espeak-ng -v en-gb+f3 -s 150 -w said.wav "$2"
	sox -R -D said.wav -r 16000 -b 16 -c 1 "$1" gain -n -4
}

quiet() {
	sox -n -R -r 16000 -b 16 -c 1 "$1" synth "$2" brownnoise vol 0.002
}

say s1.wav "Good morning. This voice was made by a machine, and another machine is listening."
say s2.wav "It should hear three sentences, with a pause after each."
say s3.wav "This is the last one. Goodbye."
quiet q1.wav 1.0
quiet q2.wav 2.0
quiet q3.wav 1.5
quiet q4.wav 1.2
sox -R -D q1.wav s1.wav q2.wav s2.wav q3.wav s3.wav q4.wav "$out"
