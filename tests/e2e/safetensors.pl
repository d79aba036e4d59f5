#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Writes a safetensors document to stdout: NAME:DTYPE:SHAPE=VALUES ..., SHAPE 2x3 ("" for a scalar),
# VALUES comma-separated (nan allowed), DTYPE F64, F32, BF16 (cut), I64, or F8_E4M3 and its like,
# whose VALUES are codes.
use strict;
use warnings;

my ($offset, @head, $data) = (0);
$data = '';
for (@ARGV) {
    my ($name, $dtype, $shape, $values) = /^(\w+):(\w+):([\dx]*)=(.*)$/s or die "$_\n";
    my @values = map { $_ eq 'nan' ? 'nan' + 0 : $_ } split /,/, $values;
    my $bytes = $dtype eq 'F64' ? pack('d<*', @values)
        : $dtype eq 'F32' ? pack('f<*', @values)
        : $dtype eq 'I64' ? pack('q<*', @values)
        : $dtype =~ /^F8_/ ? pack('C*', @values)
        : join '', map { substr pack('f<', $_), 2 } @values;
    my $dims = join ',', split /x/, $shape;
    push @head, sprintf '"%s":{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}', $name, $dtype,
        $dims, $offset, $offset + length $bytes;
    $offset += length $bytes;
    $data .= $bytes;
}
my $head = '{' . join(',', @head) . '}';
$head .= ' ' x (-length($head) % 8);
binmode STDOUT;
print pack('Q<', length $head), $head, $data;
