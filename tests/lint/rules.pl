#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
# Checks what a compiler does not: which room may include what, banned functions, the SPDX line and
# the role comment, columns, tabs, and the links of Markdown files. One line a finding; exit 1 when
# there is any. Lengths of files and functions are warnings. Perl, because every Debian has it
# (perl-base, hence no File::Find).
#
#   rules.pl [FILE...]      default: every file of the project
use strict;
use warnings;
use File::Basename;

my @TOP = qw(reference vectors harness server schema tests docs .ci);
my ($n_errors, $n_warnings) = (0, 0);

sub finding { my ($where, $text) = @_; print "$where: $text\n"; $n_errors++; }
sub warning { my ($where, $text) = @_; print "$where: warning: $text\n"; $n_warnings++; }

# ---- rooms ----

# A room includes its own headers and the front doors of the rooms below it.
my %DOORS = (
    reference => [],
    vectors   => ['reference/reference.h'],
    harness   => ['reference/reference.h', 'reference/judge.h', 'reference/bend.h',
                  'vectors/vectors.h',
                  'vectors/files.h'],
    server    => ['reference/reference.h', 'vectors/vectors.h', 'vectors/files.h',
                  'harness/harness.h'],
    'posref.c' => ['reference/reference.h', 'vectors/vectors.h', 'harness/harness.h',
                   'server/server.h'],
);
# The only room that may include a library's header.
my %OWNER = ('sqlite3.h' => 'vectors', 'microhttpd.h' => 'server');
# reference/ takes libc and libm only, and of these nothing that reaches outside the process.
my %PURE = map { $_ => 1 } qw(assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h limits.h
    math.h stdalign.h stdarg.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h
    immintrin.h);

sub check_include {
    my ($file, $where, $header, $is_local) = @_;
    my ($room) = $file =~ m{^([^/]+)};
    if (!$is_local) {
        finding($where, "<$header> belongs to $OWNER{$header}/ alone")
            if $OWNER{$header} && $room ne $OWNER{$header} && $room ne 'tests';
        finding($where, "<$header>: reference/ uses libc and libm only")
            if $room eq 'reference' && !$PURE{$header};
        return;
    }
    my $path = $header;
    $path = dirname($file) . "/$header" if $header !~ m{/} && dirname($file) ne '.';
    if ($file =~ m{^harness/plugins/}) {
        finding($where, "\"$header\": a plugin includes posref_plugin.h and its own headers only")
            if $header !~ m{^(\.\./|harness/)?posref_plugin\.h$} && $path !~ m{^harness/plugins/};
    } elsif ($file =~ m{^tests/oracle/}) {
        # The oracle shares no code and no table with what it certifies.
        finding($where, "\"$header\": the oracle must not see the headers of what it certifies")
            if $path !~ m{^tests/};
    } elsif ($DOORS{$room}) {
        my $ok = $path =~ m{^\Q$room\E/} || grep { $_ eq $path } @{ $DOORS{$room} };
        finding($where, "\"$header\": $room may not include it (see docs/README.md, rooms)")
            unless $ok;
    }
}

# ---- banned functions ----

my %BANNED = (
    (map { $_ => 'has no bound; use a posref_buffer or snprintf' }
        qw(strcpy stpcpy strcat sprintf vsprintf gets wcscpy)),
    (map { $_ => 'leaves results unterminated or truncates silently' } qw(strncpy strncat)),
    (map { $_ => 'hides errors; use posref_number_parse or strtol with checks' }
        qw(atoi atol atoll atof scanf sscanf fscanf vsscanf)),
    (map { $_ => 'keeps hidden state' } qw(strtok rand srand setlocale localtime gmtime strerror
        asctime ctime)),
    (map { $_ => 'is unsafe' } qw(alloca tmpnam tempnam mktemp system popen vfork longjmp)),
);
# Below posref.c and the command files nothing prints and nothing ends the process.
my %QUIET = map { $_ => 1 } qw(printf vprintf puts putchar perror exit abort);
# reference/ has no I/O and no hidden allocation.
my %NOT_PURE = map { $_ => 1 } qw(malloc calloc realloc free strdup fopen fread fwrite fprintf fputs
    fputc getenv time clock open read write mmap);

# Tests may run programs, change the locale to see that nothing depends on it, and draw numbers.
my %TEST_MAY = map { $_ => 1 } qw(setlocale rand srand system popen strerror);

# A line may carry a comment `lint: allow NAME` with its reason.
sub check_calls {
    my ($file, $lines, $code) = @_;
    my $is_test = $file =~ m{^tests/};
    my $is_plugin = $file =~ m{^harness/plugins/};
    my $is_pure = $file =~ m{^reference/};
    my $may_print = $is_test || $is_plugin || $file =~ m{^posref\.c$|/(cmd_|command)[^/]*\.[ch]$};
    for my $i (0 .. $#$code) {
        my %allowed = map { $_ => 1 } ($lines->[$i] // '') =~ /lint: allow (\w+)/g;
        my $line = $code->[$i];
        while ($line =~ /(?<![\w.>])(\w+)\s*\(/g) {
            my $name = $1;
            next if $allowed{$name} || ($is_test && $TEST_MAY{$name});
            my $where = "$file:" . ($i + 1);
            finding($where, "$name() $BANNED{$name}") if $BANNED{$name};
            finding($where, "$name() only in posref.c and the command files")
                if $QUIET{$name} && !$may_print;
            finding($where, "$name(): reference/ has no I/O and takes memory from its arena only")
                if $NOT_PURE{$name} && $is_pure;
        }
        if (!$may_print && $line =~ /\b(stdout|stderr)\b/ && !$allowed{$1}) {
            finding("$file:" . ($i + 1), "$1 only in posref.c and the command files");
        }
    }
}

# ---- text ----

# The code without comments and without the insides of string literals, line by line.
sub strip_comments {
    my ($text) = @_;
    $text =~ s{(/\*.*?\*/|//[^\n]*)|"((?:\\.|[^"\\\n])*)"|('(?:\\.|[^'\\\n])*')}
              {defined $1 ? "\n" x ($1 =~ tr/\n//) . ' ' : defined $2 ? '""' : "' '"}gse;
    return split /\n/, $text, -1;
}

sub check_c {
    my ($file, $text, $lines) = @_;
    finding("$file:1", 'the first line must be /* SPDX-License-Identifier: Apache-2.0 */')
        if ($lines->[0] // '') ne '/* SPDX-License-Identifier: Apache-2.0 */';
    finding("$file:2", 'the first comment must say the role of the file')
        if ($lines->[1] // '') !~ m{^/\* \w};
    # Includes are read from the raw lines: stripping empties their quotes.
    for my $i (0 .. $#$lines) {
        next unless $lines->[$i] =~ /^\s*#\s*include\s*([<"])([^>"]+)[>"]/;
        check_include($file, "$file:" . ($i + 1), $2, $1 eq '"');
    }
    my @code = strip_comments($text);
    check_calls($file, $lines, \@code);
    warning($file, scalar(@$lines) . ' lines; 200 is the aim, 500 is much') if @$lines > 500;
    my $start;
    for my $i (0 .. $#code) {
        if ($code[$i] =~ /^\{/) { $start = $i; }
        if ($code[$i] =~ /^\}/ && defined $start) {
            my $length = $i - $start + 1;
            warning("$file:" . ($start + 1), "function of $length lines; 60 is much")
                if $length > 60;
            undef $start;
        }
    }
}

sub check_script {
    my ($file, $lines) = @_;
    finding("$file:2", 'the second line must be # SPDX-License-Identifier: Apache-2.0')
        if ($lines->[1] // '') ne '# SPDX-License-Identifier: Apache-2.0';
    finding("$file:3", 'the first comment must say the role of the file')
        if ($lines->[2] // '') !~ /^# \w/;
    finding($file, 'must be executable') unless -x $file;
}

sub check_markdown {
    my ($file, $lines) = @_;
    my $fenced = 0;
    for my $i (0 .. $#$lines) {
        $fenced = !$fenced if $lines->[$i] =~ /^\s*```/;
        next if $fenced;
        (my $line = $lines->[$i]) =~ s/`[^`]*`//g;
        while ($line =~ /\]\(([^)#\s]+)[^)]*\)/g) {
            my $target = $1;
            next if $target =~ /^[a-z]+:/;
            finding("$file:" . ($i + 1), "link to $target, which does not exist")
                unless -e dirname($file) . "/$target";
        }
    }
}

sub check_file {
    my ($file) = @_;
    open my $in, '<:raw', $file or die "$file: $!\n";
    my $text = do { local $/; <$in> } // '';
    close $in;
    my @lines = split /\n/, $text;
    my $is_code = $file =~ /\.([ch]|sh|pl|mk|sql|js|mjs|css|html)$|Makefile$|^\.ci\//;
    my $is_make = $file =~ /\.mk$|Makefile$/;
    for my $i (0 .. $#lines) {
        my $where = "$file:" . ($i + 1);
        finding($where, 'tab') if !$is_make && $lines[$i] =~ /\t/;
        finding($where, 'space at the end of the line') if $lines[$i] =~ /[ \t\r]$/;
        finding($where, length($lines[$i]) . ' columns; 100 is the limit')
            if $is_code && length($lines[$i]) > 100;
        while ($file !~ m{^tests/(lint|e2e/test_lint)} &&
            $lines[$i] =~ m{\b(docs/[\w-]+\.md)\b}g) {
            finding($where, "$1 does not exist") unless -e $1;
        }
        finding($where, 'a note to self does not belong in the product')
            if $is_code && $file !~ m{^tests/lint/} && $lines[$i] =~ /\b(TODO|FIXME|XXX)\b/;
    }
    finding($file, 'no newline at the end of the file') if length $text && $text !~ /\n\z/;
    if ($file =~ /\.[ch]$/) { check_c($file, $text, \@lines); }
    elsif ($text =~ /^#!/) { check_script($file, \@lines); }
    elsif ($file =~ /\.md$/) { check_markdown($file, \@lines); }
}

# Every text file of the project; build outputs and packages live elsewhere.
sub project_files {
    my @files = grep { -f } qw(posref.c Makefile README.md package.json);
    my @directories = grep { -d } @TOP;
    while (defined(my $directory = shift @directories)) {
        opendir my $in, $directory or die "$directory: $!\n";
        for my $path (map { "$directory/$_" } grep { !/^\.\.?$/ } readdir $in) {
            if (-d $path) { push @directories, $path; }
            elsif (-T $path && $path !~ /\.(json|jsonl|txt|safetensors|gguf|npy)$/) {
                push @files, $path;
            }
        }
        closedir $in;
    }
    return sort @files;
}

# What git keeps is source: a database or another output that strayed in would stay for ever.
my $MAX_TRACKED_BYTES = 1 << 20;
sub check_tracked {
    for my $file (split /\0/, `git ls-files -z 2>/dev/null`) {
        my $size = -s $file // 0;
        finding($file, "$size bytes; git keeps sources, $MAX_TRACKED_BYTES bytes at most")
            if $size > $MAX_TRACKED_BYTES;
    }
}

check_tracked() unless @ARGV;
my @files = @ARGV ? @ARGV : project_files();
check_file($_) for @files;
printf "lint-rules: %d files, %d findings, %d warnings\n", scalar @files, $n_errors, $n_warnings;
exit($n_errors ? 1 : 0);
