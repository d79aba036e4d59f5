/* SPDX-License-Identifier: Apache-2.0 */
/* The leading POSREF_BALL_MAX_BITS + 128 bits of pi / 4 and of ln 2. tests/unit/test_ball.c
 * computes them again from arctangent and logarithm series. Included by ball_mul.c alone. */
#ifndef POSREF_BALL_CONSTANTS_H
#define POSREF_BALL_CONSTANTS_H

#include "ball.h"

/* pi / 4, little-endian, cut off. */
static const uint64_t posref_pi_limbs[POSREF_BALL_LIMBS] = {
    0xf8ff9406ad9e530e, 0xc9751e763dba37bd, 0xc1d4dcb2602646de, 0x36c3fab4d27c7026,
    0x4df435c934028492, 0x86ffb7dc90a6c08f, 0x93b4ea988d8fddc1, 0xd0069127d5b05aa9,
    0xb81bdd762170481c, 0x1f612970cee2d7af, 0x233ba186515be7ed, 0x99b2964fa090c3a2,
    0x287c59474e6bc05d, 0x2e8efc141fbecaa6, 0xdbbbc2db04de8ef9, 0x2583e9ca2ad44ce8,
    0x1a946834b6150bda, 0x99c327186af4e23c, 0x88719a10bdba5b26, 0x1a723c12a787e6d7,
    0x4b82d120a9210801, 0x43db5bfce0fd108e, 0x08e24fa074e5ab31, 0x770988c0bad946e2,
    0xbbe117577a615d6c, 0x521f2b18177b200c, 0xd87602733ec86a64, 0xf12ffa06d98a0864,
    0xcee3d2261ad2ee6b, 0x1e8c94e04a25619d, 0xabf5ae8cdb0933d7, 0xb3970f85a6e1e4c7,
    0x8aea71575d060c7d, 0xecfb850458dbef0a, 0xa85521abdf1cba64, 0xad33170d04507a33,
    0x15728e5a8aaac42d, 0x15d2261898fa0510, 0x3995497cea956ae5, 0xde2bcbf695581718,
    0xb5c55df06f4c52c9, 0x9b2783a2ec07a28f, 0xe39e772c180e8603, 0x32905e462e36ce3b,
    0xf1746c08ca18217c, 0x670c354e4abc9804, 0x9ed529077096966d, 0x1c62f356208552bb,
    0x83655d23dca3ad96, 0x69163fa8fd24cf5f, 0x98da48361c55d39a, 0xc2007cb8a163bf05,
    0x49286651ece45b3d, 0xae9f24117c4b1fe6, 0xee386bfb5a899fa5, 0x0bff5cb6f406b7ed,
    0xf44c42e9a637ed6b, 0xe485b576625e7ec6, 0x4fe1356d6d51c245, 0x302b0a6df25f1437,
    0xef9519b3cd3a431b, 0x514a08798e3404dd, 0x020bbea63b139b22, 0x29024e088a67cc74,
    0xc4c6628b80dc1cd1, 0xc90fdaa22168c234,
};

/* ln 2, little-endian, cut off. */
static const uint64_t posref_ln2_limbs[POSREF_BALL_LIMBS] = {
    0xc0b1b31d8a0e23fa, 0x85db6ab03a49bd0d, 0x175eb4afc8daadd8, 0xf07afff3a892374e,
    0x8f6826250dea891e, 0xcecb72f19c38339d, 0x5f6f7cebac9f45ae, 0x6c472096e76115c0,
    0x972cd18bfbbd9d42, 0x0ab111bbbd67c724, 0x473826fda0c238b9, 0x61c1696dd24aaebd,
    0x156e0c292413d5e3, 0x95184460dc4e7487, 0xd7622658901e646a, 0xef2f0ce2d7373958,
    0x2ac5b61cc4e9207c, 0x57339ba2beba7d05, 0x0060e49908391a0c, 0x621363196af50302,
    0x05c128d53d0bd2f9, 0x36e02b20cee886b9, 0x0bbb16faf3d949f2, 0x422183edc9942109,
    0x5e9222b88c66d3c5, 0x61affd446b1ca3cf, 0x268a5c1f9538b982, 0x8d6f5177fbcf0755,
    0xa17293d1228a4ef9, 0x44a02554731cdc8e, 0x96d4e6d330af889b, 0x5570b6c68f969834,
    0x7598a1951ae273ee, 0x4d162db3b365853d, 0x5f50b5185064c18b, 0x078f735d1b2db31b,
    0xae313cdb6c606cb1, 0x955d5179b1e17b9d, 0x0c480a5417350d2c, 0x074db6015cfe7aa3,
    0x6a9c7f8a5e148e82, 0x25669b333564a337, 0x4c1a1e0bd1d6095d, 0xcccc4e659393514c,
    0xc943e732b479cd33, 0x17460775db8990e5, 0x7d2e23de1400b396, 0xee569d6dfc1efa15,
    0x610d30f88fe551a2, 0x07f4ca11fb5bfb90, 0xda2d97c50f3fd5c6, 0x655fa1872f20e3a2,
    0xf5dfa6bd38303248, 0x72ce87b19d6548ca, 0x256fa0ec7657f74b, 0xb9ea9bc3b136603b,
    0x1acbda11317c387e, 0x3e96ca16224ae8c5, 0x27573b291169b825, 0xed2eae35c1382144,
    0x559552fb4afa1b10, 0xe7b876206debac98, 0x8a0d175b8baafa2b, 0x40f343267298b62d,
    0xc9e3b39803f2f6af, 0xb17217f7d1cf79ab,
};

#endif
